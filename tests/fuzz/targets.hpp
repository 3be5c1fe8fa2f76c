// The fuzz targets: each gives the bytes of one input to a reader of the program. The reader must
// accept them, or refuse them with a UsageError or a Failure. Anything else is a finding.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace ranklab::fuzz {

struct Target {
  std::string name;  // the folder of its seeds and findings
  void (*read)(std::string_view bytes);
};

// .npy, .npz, .safetensors: every tensor, and the checkpoint in a .safetensors file. Input of `npz`
// that is not an archive becomes its one member, with correct checksums; input of `safetensors`
// that starts with a brace is a header without its length, then a line break and the entries.
void read_npy(std::string_view bytes);
void read_npz(std::string_view bytes);
void read_safetensors(std::string_view bytes);
// Token ids as .npy, .json or .txt, by the first bytes.
void read_token_ids(std::string_view bytes);
// IDX images, IDX labels, CIFAR-10 records and digits.
void read_images(std::string_view bytes);
// A text as characters and as byte pairs.
void read_corpus(std::string_view bytes);
// The config.json of a model, and the index of weights in several files.
void read_model_config(std::string_view bytes);
// A preset or a result as --config takes it.
void read_config(std::string_view bytes);
// Result files: figures, pages, tables, comparisons, reruns. After a zero byte: a second result.
void read_result(std::string_view bytes);
// Journals and parts. Input that starts with R is a list of records, each with a length of two
// bytes; they are stored with correct checksums.
void read_journal(std::string_view bytes);
void read_part(std::string_view bytes);
// The metadata of a recording.
void read_recording(std::string_view bytes);
// A statement of one's own, about small curves and numbers.
void read_claim(std::string_view bytes);
// The text of any flag's value, to every flag and to the parsers of all small languages.
void read_flags(std::string_view bytes);
// The words of a command line, one per line, or separated by blanks. Nothing is run.
void read_command_line(std::string_view bytes);

const std::vector<Target>& targets();

/// Calls the target in a private folder, with standard output discarded. Throws whatever the reader
/// throws except UsageError and Failure, and std::logic_error if the reader left a file behind.
void run(const Target& target, std::string_view bytes);

}  // namespace ranklab::fuzz
