#include "workplace.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <stdexcept>

#include "temporary_folder.hpp"

namespace ranklab::fuzz {
namespace {

namespace fs = std::filesystem;

// The files and folders that targets wrote, by name of the target.
std::map<std::string, std::set<std::string>> known_files;
std::string visited;

const TemporaryFolder& all_folders() {
  static const TemporaryFolder folder;
  return folder;
}

}  // namespace

std::string expect(const std::string& name) {
  known_files[visited].insert(name.substr(0, name.find('/')));
  return name;
}

std::string put(const std::string& name, std::string_view bytes) {
  if (const std::size_t slash = name.find('/'); slash != std::string::npos)
    fs::create_directory(name.substr(0, slash));
  std::ofstream file(name, std::ios::binary | std::ios::trunc);
  file.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  file.close();
  if (!file) throw std::runtime_error("cannot write " + name);
  return expect(name);
}

Visit::Visit(const Target& target)
    : folder_(::open(".", O_RDONLY | O_DIRECTORY | O_CLOEXEC)), output_(::dup(STDOUT_FILENO)) {
  visited = target.name;
  const fs::path folder = all_folders() / target.name;
  fs::create_directory(folder);
  fs::current_path(folder);
  std::fflush(stdout);
  const int null = ::open("/dev/null", O_WRONLY | O_CLOEXEC);
  ::dup2(null, STDOUT_FILENO);
  ::close(null);
}

Visit::~Visit() {
  std::fflush(stdout);
  ::dup2(output_, STDOUT_FILENO);
  ::close(output_);
  if (::fchdir(folder_) != 0) std::perror("cannot return to the working directory");
  ::close(folder_);
}

void Visit::require_no_other_files() const {
  for (const auto& entry : fs::directory_iterator(all_folders() / visited)) {
    const std::string name = entry.path().filename().string();
    if (!known_files[visited].contains(name))
      throw std::logic_error("the reader wrote the file " + name);
  }
}

}  // namespace ranklab::fuzz
