#include "cli/giving_way.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "core/error.hpp"
#include "core/text.hpp"
#include "result/result_json.hpp"

namespace ranklab {
namespace {

// A value that gave way so that the run is possible.
struct Replaced {
  std::string flag, from, origin, why;
};

std::string shown_value(const std::string& text) {
  return text.empty() ? "none" : printable_key(text);
}

std::string note_of(const Replaced& replaced, const std::vector<Field>& fields) {
  return say("{}--{} {} instead of {}{}, because {}.", assumed, replaced.flag,
             shown_value(find_field(fields, replaced.flag)->value_text()),
             replaced.origin.empty() ? "the default " : "",
             shown_value(replaced.from) + replaced.origin, replaced.why);
}

// Whether the value may change so that the run is possible. The values of one file of the program
// must fit each other.
bool may_yield(const Misfit& misfit, const Givers& givers) {
  if (givers.is_explicit(misfit.flag)) return false;
  return givers.file_of(misfit.flag) == nullptr ||
         std::ranges::any_of(misfit.others,
                             [&](const std::string& other) { return givers.is_explicit(other); });
}

void give_way(const std::vector<Field>& fields, const Givers& givers, const Misfit& misfit,
              std::vector<Replaced>& replaced) {
  const Field* field = find_field(fields, misfit.flag);
  const std::string label = "--" + misfit.flag;
  const ParameterFile* const file = givers.file_of(misfit.flag);
  if (std::ranges::find(replaced, misfit.flag, &Replaced::flag) == replaced.end())
    replaced.push_back({misfit.flag, field->value_text(),
                        file != nullptr ? " of " + file->label : "", misfit.what()});
  if (misfit.fitting.empty())
    set_field(*field, nlohmann::json::array(), label);
  else
    field->parse(misfit.fitting, label);
}

void refuse_flags_that_do_nothing(const Arguments& flags, const std::vector<Field>& fields) {
  for (const Field& field : fields) {
    if (field.is_idle() && flags.find(field.name) != nullptr)
      throw UsageError("--" + field.name + ": does nothing in this run; it needs " + field.needs);
  }
}

}  // namespace

Givers::Givers(const RunRequest& request) : flags_(request.flags) {
  if (request.preset) files_.push_back(parameters_of(*request.preset));
  if (request.config) files_.push_back(*request.config);
}

const ParameterFile* Givers::file_of(const std::string& flag) const {
  if (is_typed(flag)) return nullptr;
  const auto found = std::find_if(files_.rbegin(), files_.rend(), [&](const ParameterFile& file) {
    return file.config.contains(flag);
  });
  return found == files_.rend() ? nullptr : &*found;
}

bool Givers::is_explicit(const std::string& flag) const {
  const ParameterFile* const file = file_of(flag);
  return is_typed(flag) || (file != nullptr && file->owner != Owner::program);
}

std::string Givers::explicit_files() const {
  std::vector<std::string> labels;
  for (const ParameterFile& file : files_) {
    if (file.owner != Owner::program) labels.push_back(file.label);
  }
  return joined(labels, " and ");
}

std::vector<std::string> validate(const ResolvedRun& run, const Givers& givers) {
  constexpr int most_misfits = 1000;
  std::vector<Replaced> replaced;
  for (int i = 0;; ++i) {
    try {
      run.study().fill_defaults();
      refuse_flags_that_do_nothing(givers.flags(), run.fields());
      run.study().check();
      break;
    } catch (const Misfit& misfit) {
      if (i == most_misfits || !may_yield(misfit, givers)) throw;
      give_way(run.fields(), givers, misfit, replaced);
    }
  }
  std::vector<std::string> notes;
  for (const Replaced& each : replaced) notes.push_back(note_of(each, run.fields()));
  return notes;
}

std::vector<std::string> note_on_files(const Givers& givers, const std::vector<Field>& fields,
                                       const std::map<std::string, std::string>& before) {
  std::vector<std::string> values;
  const ParameterFile* last = nullptr;
  for (const Field& field : fields) {
    const ParameterFile* const file = givers.file_of(field.name);
    const std::string now = field.value_text();
    if (file == nullptr || file->owner != Owner::program || before.at(field.name) == now) continue;
    last = file;
    values.push_back(say("--{} {} instead of {}", field.name, shown_value(now),
                         shown_value(before.at(field.name))));
  }
  if (values.empty()) return {};
  return {say("{}{} of {}, because the input files say so.", assumed, joined(values), last->label)};
}

void refuse_contradictions(const Study& study, const Givers& givers) {
  for (const Contradiction& each : study.contradictions()) {
    const ParameterFile* const file = givers.file_of(each.flag);
    if (file != nullptr && file->owner == Owner::user)
      throw UsageError(say("{}: {}: {} does not fit: {}; the flag --{} would decide", file->label,
                           each.flag, each.value, each.in_file, each.flag));
  }
}

}  // namespace ranklab
