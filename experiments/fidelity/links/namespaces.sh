# Runs one cell: a network namespace for every host, joined by a bridge, with links of a rate both ways. Root in
# a user namespace of its own is enough:
#
#   unshare -rnm --pid --fork --kill-child --mount-proc \
#     bash namespaces.sh probe|train RATE FOLDER [RANKS DENSE-PSS]
#
# RATE is that of tc, such as 100mbit. FOLDER has the programs node and probe, and job.yaml; the results are
# files there. Hosts: 1 host and data loader, 2 embedding worker, 3 embedding PS, 4 ranks, 5 dense PSs.
set -e
what=$1 rate=$2 folder=$3 ranks=$4 dense=$5
cd "$folder"
ip link set lo up
ip link add br0 type bridge
ip link set br0 up
for i in 1 2 3 4 5; do
  unshare -n sleep 1000 &
  host[$i]=$!
done
for i in 1 2 3 4 5; do
  # until the process has left the namespace of this one
  while [ "$(readlink /proc/${host[$i]}/ns/net)" = "$(readlink /proc/self/ns/net)" ]; do sleep 0.01; done
  ip link add v$i type veth peer name e$i
  # Of 1,500 bytes the kernel makes so many packets that two cores are busy with them at 200 Mbit/s.
  ip link set v$i mtu 9000 master br0 up
  ip link set e$i mtu 9000
  ip link set e$i netns ${host[$i]}
  nsenter -t ${host[$i]} -n bash -ec "ip link set lo up; ip addr add 10.9.0.$i/24 dev e$i; ip link set e$i up
    echo reno > /proc/sys/net/ipv4/tcp_congestion_control
    tc qdisc add dev e$i root tbf rate $rate burst 32kb latency 400ms"
  tc qdisc add dev v$i root tbf rate $rate burst 32kb latency 400ms
done
on() { nsenter -t ${host[$1]} -n "${@:2}"; }

if [ "$what" = probe ]; then
  on 2 ./probe serve 10.9.0.2:7300 &
  on 3 ./probe measure 10.9.0.2:7300 2.5 > probe.json
  exit
fi

role() {
  on $1 ./node $2 --file job.yaml --index $3 --listen 10.9.0.$1:$((7301 + $3)) --host 10.9.0.1:7300 2>> errors &
}
on 1 ./node host --file job.yaml --listen 10.9.0.1:7300 > result.json 2> errors &
training=$!
role 1 data-loader 0
role 2 embedding-worker 0
role 3 embedding-ps 0
for ((i = 0; i < ranks; i++)); do role 4 nn-worker $i; done
for ((i = 0; i < dense; i++)); do role 5 dense-ps $i; done
wait $training
for i in 1 2 3 4 5; do on $i grep e$i: /proc/net/dev; done > bytes
