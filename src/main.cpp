// ranklab: argv -> command -> exit code.

#include <malloc.h>

#include <cstdio>
#include <exception>
#include <new>
#include <string>
#include <vector>

#include "cli/commands.hpp"
#include "core/error.hpp"
#include "core/text.hpp"
#include "io/atomic_file.hpp"
#include "linalg/blas.hpp"

namespace {

int complain(const std::string& message, int exit_code) {
  std::fprintf(stderr, "ranklab: %s\n", ranklab::printable(message).c_str());
  return exit_code;
}

}  // namespace

int main(int argc, char** argv) {
  ranklab::choose_blas_kernel(argv);
  // Large matrices go straight back to the system: glibc otherwise raises this threshold by itself, and keeps what one
  // thread freed from the others, so that memory grows with the number of trials. Small ones are kept for the next step.
  mallopt(M_MMAP_THRESHOLD, 4 << 20);
  mallopt(M_TRIM_THRESHOLD, 64 << 20);
  try {
    const int exit_code = ranklab::run_command_line(std::vector<std::string>(argv + (argc > 0 ? 1 : 0), argv + argc));
    if (std::fflush(stdout) != 0) return complain("cannot write to standard output", 1);
    return exit_code;
  } catch (const ranklab::UsageError& error) {
    return complain(error.what(), 2);
  } catch (const ranklab::Failure& error) {
    return complain(error.what(), 1);
  } catch (const std::bad_alloc&) {
    return complain("out of memory; smaller sizes or fewer --threads need less", 1);
  } catch (const std::exception& error) {
    return complain(error.what(), 1);
  }
}
