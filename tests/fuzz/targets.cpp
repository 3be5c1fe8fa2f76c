#include "targets.hpp"

#include "workplace.hpp"

namespace ranklab::fuzz {

const std::vector<Target>& targets() {
  static const std::vector<Target> all = {{"npy", read_npy},
                                          {"npz", read_npz},
                                          {"safetensors", read_safetensors},
                                          {"token_ids", read_token_ids},
                                          {"images", read_images},
                                          {"corpus", read_corpus},
                                          {"model_config", read_model_config},
                                          {"config", read_config},
                                          {"result", read_result},
                                          {"journal", read_journal},
                                          {"part", read_part},
                                          {"recording", read_recording},
                                          {"claim", read_claim},
                                          {"flags", read_flags},
                                          {"command_line", read_command_line}};
  return all;
}

void run(const Target& target, std::string_view bytes) {
  const Visit visit(target);
  attempt([&] { target.read(bytes); });
  visit.require_no_other_files();
}

}  // namespace ranklab::fuzz
