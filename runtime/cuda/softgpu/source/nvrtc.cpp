// The run-time compiler: it makes C++ of CUDA C, and calls c++.

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>

extern char **environ;

static const char *prelude =
#include "prelude.inc"
	;

const std::string imageBegin = "software GPU of " SOFTGPU_SOURCES "\n";

enum {
	NVRTC_SUCCESS = 0,
	NVRTC_ERROR_OUT_OF_MEMORY = 1,
	NVRTC_ERROR_INVALID_INPUT = 3,
	NVRTC_ERROR_INVALID_PROGRAM = 4,
	NVRTC_ERROR_INVALID_OPTION = 5,
	NVRTC_ERROR_COMPILATION = 6,
};

struct Program {
	std::string source, name, log, image;
};

API const char *nvrtcGetErrorString(int code) {
	static const char *const all[] = {"NVRTC_SUCCESS", "NVRTC_ERROR_OUT_OF_MEMORY",
		"NVRTC_ERROR_PROGRAM_CREATION_FAILURE", "NVRTC_ERROR_INVALID_INPUT", "NVRTC_ERROR_INVALID_PROGRAM",
		"NVRTC_ERROR_INVALID_OPTION", "NVRTC_ERROR_COMPILATION"};
	return code >= 0 && code < 7 ? all[code] : "NVRTC_ERROR unknown";
}

API int nvrtcVersion(int *major, int *minor) {
	*major = 12;
	*minor = 4;
	return NVRTC_SUCCESS;
}

API int nvrtcGetNumSupportedArchs(int *count) {
	*count = 4;
	return NVRTC_SUCCESS;
}

API int nvrtcGetSupportedArchs(int *all) {
	for (int arch : {70, 80, 89, 90}) *all++ = arch;
	return NVRTC_SUCCESS;
}

API int nvrtcCreateProgram(Program **program, const char *source, const char *name, int headers,
	const char *const *, const char *const *) {
	if (headers || !source) return NVRTC_ERROR_INVALID_INPUT;
	*program = keep(new Program{source, name ? name : "default_program", "", ""});
	return NVRTC_SUCCESS;
}

API int nvrtcDestroyProgram(Program **program) {
	if (!forget(*program)) return NVRTC_ERROR_INVALID_PROGRAM;
	delete *program;
	*program = nullptr;
	return NVRTC_SUCCESS;
}

static bool isName(char c) { return isalnum((unsigned char)c) || c == '_'; }

// withoutComments replaces comments by spaces, and keeps the lines.
static std::string withoutComments(std::string s) {
	for (size_t i = 0; i + 1 < s.size(); i++) {
		size_t end;
		if (s[i] == '/' && s[i + 1] == '/') end = std::min(s.find('\n', i), s.size());
		else if (s[i] == '/' && s[i + 1] == '*') end = std::min(s.find("*/", i + 2), s.size() - 2) + 2;
		else continue;
		for (; i < end; i++)
			if (s[i] != '\n') s[i] = ' ';
	}
	return s;
}

// kernelsOf returns the names of the kernels of a source: what stands before the next parenthesis after
// __global__, but for __launch_bounds__.
static std::vector<std::string> kernelsOf(const std::string &s) {
	std::vector<std::string> names;
	const std::string mark = "__global__", bounds = "__launch_bounds__";
	for (size_t at = s.find(mark); at != std::string::npos; at = s.find(mark, at + 1)) {
		size_t open = s.find('(', at), jump = s.find(bounds, at);
		if (jump < open) open = s.find('(', s.find(')', open) + 1);
		if (open == std::string::npos) break;
		size_t end = open;
		while (end > at && isspace((unsigned char)s[end - 1])) end--;
		size_t begin = end;
		while (begin > at && isName(s[begin - 1])) begin--;
		names.push_back(s.substr(begin, end - begin));
	}
	return names;
}

// dynamicShared makes a pointer of each `extern __shared__ type name[];`.
static std::string dynamicShared(std::string s) {
	for (size_t at; (at = s.find("extern __shared__")) != std::string::npos;) {
		size_t end = s.find(';', at), bracket = s.rfind('[', end);
		if (end == std::string::npos || bracket == std::string::npos || bracket < at) break;
		size_t nameEnd = bracket;
		while (isspace((unsigned char)s[nameEnd - 1])) nameEnd--;
		size_t name = nameEnd;
		while (isName(s[name - 1])) name--;
		size_t type = at + strlen("extern __shared__");
		size_t align = s.find("__align__", type);
		if (align < name) type = s.find(')', align) + 1;
		std::string element = s.substr(type, name - type), variable = s.substr(name, nameEnd - name);
		s.replace(at, end - at, element + "*" + variable + " = (" + element + "*)softgpu_block->shared");
	}
	return s;
}

static std::string readAll(const std::string &name) {
	std::string text;
	if (FILE *f = fopen(name.c_str(), "rb")) {
		char buffer[1 << 16];
		for (size_t n; (n = fread(buffer, 1, sizeof buffer, f)) > 0;) text.append(buffer, n);
		fclose(f);
	}
	return text;
}

// translate adds the lines that an option of NVRTC stands for. It returns false for an unknown option.
static bool translate(const std::string &option, std::string *lines) {
	for (const char *define : {"-D", "--define-macro="})
		if (option.rfind(define, 0) == 0) {
			std::string macro = option.substr(strlen(define));
			size_t equal = macro.find('=');
			if (equal == std::string::npos) macro += " 1";
			else macro[equal] = ' ';
			*lines += "#define " + macro + "\n";
			return true;
		}
	for (const char *ignored : {"--gpu-architecture=", "-arch=", "--fmad=", "-fmad=", "--use_fast_math",
			 "-use_fast_math", "--std=", "-std=", "--prec-div=", "--prec-sqrt=", "--ftz=", "-default-device",
			 "--device-int128", "-lineinfo", "--generate-line-info", "--extra-device-vectorization", "-w",
			 "--disable-warnings", "--restrict"})
		if (option.rfind(ignored, 0) == 0) return true;
	return false;
}

static int run(const std::vector<std::string> &command, const std::string &log) {
	std::vector<char *> arguments;
	for (auto &a : command) arguments.push_back((char *)a.c_str());
	arguments.push_back(nullptr);
	posix_spawn_file_actions_t actions;
	posix_spawn_file_actions_init(&actions);
	posix_spawn_file_actions_addopen(&actions, 1, log.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
	posix_spawn_file_actions_adddup2(&actions, 1, 2);
	pid_t child;
	int status = -1;
	if (posix_spawnp(&child, arguments[0], &actions, nullptr, arguments.data(), environ) == 0)
		while (waitpid(child, &status, 0) < 0 && errno == EINTR) {}
	posix_spawn_file_actions_destroy(&actions);
	return status;
}

API int nvrtcCompileProgram(Program *p, int count, const char *const *options) {
	if (!known(p)) return NVRTC_ERROR_INVALID_PROGRAM;
	char folder[] = "/tmp/softgpu-XXXXXX";
	if (!mkdtemp(folder)) return NVRTC_ERROR_OUT_OF_MEMORY;
	std::string in = std::string(folder) + "/kernels.cpp", out = std::string(folder) + "/kernels.so",
				log = std::string(folder) + "/log";
	std::vector<std::string> command = {SOFTGPU_COMPILER, "-std=c++14", "-O2", "-w", "-fPIC",
		"-shared",
		"-fno-exceptions", "-ffp-contract=off", "-fno-strict-aliasing", "-o", out, in};
	int result = NVRTC_SUCCESS;
	std::string defines;
	for (int i = 0; i < count && result == NVRTC_SUCCESS; i++)
		if (!translate(options[i], &defines)) {
			p->log = std::string("unrecognized option ") + options[i];
			result = NVRTC_ERROR_INVALID_OPTION;
		}
	if (result == NVRTC_SUCCESS) {
		std::string source = withoutComments(p->source);
		std::string text = std::string(prelude) + defines + "#line 1 \"" + p->name + "\"\n";
		text += dynamicShared(source) + "\n";
		for (auto &name : kernelsOf(source)) text += "SOFTGPU_KERNEL(" + name + ")\n";
		FILE *f = fopen(in.c_str(), "wb");
		bool written = f && fwrite(text.data(), 1, text.size(), f) == text.size();
		if (f && fclose(f)) written = false;
		int status = written ? run(command, log) : -1;
		p->log = readAll(log);
		if (status != 0) {
			if (p->log.empty()) p->log = "cannot run " SOFTGPU_COMPILER;
			result = NVRTC_ERROR_COMPILATION;
		} else {
			std::string library = readAll(out);
			uint64_t bytes = library.size();
			p->image = imageBegin + std::string((char *)&bytes, sizeof bytes) + library;
		}
	}
	unlink(in.c_str());
	unlink(out.c_str());
	unlink(log.c_str());
	rmdir(folder);
	return result;
}

API int nvrtcGetCUBINSize(Program *p, size_t *bytes) {
	if (!known(p)) return NVRTC_ERROR_INVALID_PROGRAM;
	*bytes = p->image.size();
	return NVRTC_SUCCESS;
}

API int nvrtcGetCUBIN(Program *p, char *image) {
	if (!known(p)) return NVRTC_ERROR_INVALID_PROGRAM;
	memcpy(image, p->image.data(), p->image.size());
	return NVRTC_SUCCESS;
}

API int nvrtcGetPTXSize(Program *p, size_t *bytes) { return nvrtcGetCUBINSize(p, bytes); }
API int nvrtcGetPTX(Program *p, char *image) { return nvrtcGetCUBIN(p, image); }

API int nvrtcGetProgramLogSize(Program *p, size_t *bytes) {
	if (!known(p)) return NVRTC_ERROR_INVALID_PROGRAM;
	*bytes = p->log.size() + 1;
	return NVRTC_SUCCESS;
}

API int nvrtcGetProgramLog(Program *p, char *log) {
	if (!known(p)) return NVRTC_ERROR_INVALID_PROGRAM;
	memcpy(log, p->log.c_str(), p->log.size() + 1);
	return NVRTC_SUCCESS;
}
