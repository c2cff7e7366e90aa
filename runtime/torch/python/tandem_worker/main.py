"""The process of a rank: requests come from one pipe and replies go to another, until the parent ends."""

import faulthandler
import fcntl
import json
import os
import select
import signal
import sys
import threading
import time
import traceback

from .refused import Refused
from .worker import Worker


def end_with_parent(life):
    """Lets the kernel end the group when the parent has died, whoever holds the lock of the interpreter."""
    fcntl.fcntl(life, fcntl.F_SETOWN, -os.getpid())
    fcntl.fcntl(life, fcntl.F_SETSIG, signal.SIGKILL)
    fcntl.fcntl(life, fcntl.F_SETFL, fcntl.fcntl(life, fcntl.F_GETFL) | os.O_ASYNC)
    if select.select([life], [], [], 0)[0]:  # it has died before
        end()


class Watch(threading.Thread):
    """Ends the process when a request takes too long."""

    def __init__(self, config, fail):
        super().__init__(daemon=True)
        self.file, self.limit = config["file"], config["limit"]
        self.fail, self.since = fail, None

    def run(self):
        main = threading.main_thread().ident
        while True:
            time.sleep(min(1.0, self.limit / 4))
            since = self.since
            if since is not None and time.monotonic() - since > self.limit:
                frames = traceback.extract_stack(sys._current_frames()[main])
                self.fail(f"{where(frames, self.file)}: has run for {self.limit:g} s without an end")


def where(frames, file):
    """Returns the innermost line of the user's file among frames, and its function."""
    own = [f for f in frames if f.filename == file]
    return f"{file}:{own[-1].lineno}: {own[-1].name}" if own else file


def sentence(error, file):
    """Returns what the user reads of an exception."""
    if isinstance(error, Refused):
        return str(error)
    if isinstance(error, SyntaxError):
        return f"{error.filename}:{error.lineno}: {error.msg}"
    text = " ".join(str(error).split())
    return f"{where(traceback.extract_tb(error.__traceback__), file)}: {type(error).__name__}: {text}"


def take_signals():
    """Ignores what asks the parent to end: it does so after the batches in flight. Processes that the module
    starts end with it."""
    both = (signal.SIGINT, signal.SIGTERM)
    for one in both:
        signal.signal(one, lambda *_: None)  # programs do not inherit it, as they would SIG_IGN
    os.register_at_fork(after_in_child=lambda: [signal.signal(one, signal.SIG_DFL) for one in both])


def end():
    """Ends the process and those that the module has started: its group, which it leads."""
    os.killpg(os.getpid(), signal.SIGKILL)


def main():
    requests = os.fdopen(3, "r")
    replies = os.fdopen(4, "w")
    lock = threading.Lock()

    def reply(answer):
        with lock:
            replies.write(json.dumps(answer) + "\n")
            replies.flush()

    def fail(sentence):
        sys.stdout.flush()
        reply({"error": sentence})
        os._exit(1)

    for shared in (3, 4, 5, 6):  # not with programs that the module starts
        os.set_inheritable(shared, False)
    end_with_parent(5)
    config = json.loads(requests.readline())
    faulthandler.enable()  # a crash prints where it was
    take_signals()
    watch = Watch(config, fail)
    watch.start()
    try:
        watch.since = time.monotonic()
        worker = Worker(config, reply, 6)
        watch.since = None
        for line in requests:
            request = json.loads(line)
            watch.since = time.monotonic()
            answer = getattr(worker, request["do"])(request)
            watch.since = None
            if answer is not None:
                reply(answer)
    except BaseException as e:  # SystemExit too: a module must not end the process
        fail(sentence(e, config["file"]))
    end()

