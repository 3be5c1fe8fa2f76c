#include "cli/help.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "cli/commands.hpp"
#include "cli/options.hpp"
#include "cli/presets.hpp"
#include "cli/resolve.hpp"
#include "cli/terminal.hpp"
#include "core/machine.hpp"
#include "core/text.hpp"
#include "judge/catalog.hpp"
#include "judge/references.hpp"
#include "result/environment.hpp"
#include "result/result_json.hpp"

namespace ranklab {
namespace {

std::string padded(std::string text, std::size_t width) {
  if (text.size() < width) text.append(width - text.size(), ' ');
  return text;
}

std::string flag_lines(const std::vector<FlagHelp>& flags) {
  constexpr std::size_t indent = 24;
  std::string out;
  for (const FlagHelp& flag : flags) {
    const std::string head = "  " + flag.spelling;
    out += head.size() + 1 < indent ? padded(head, indent) : head + "\n" + std::string(indent, ' ');
    out += wrapped(flag.text, indent);
  }
  return out;
}

// A command line that runs as printed.
std::string example(const Experiment& experiment, const StudyEntry& study) {
  return "  ranklab " + experiment.name + " --study " + study.name +
         " --trials 2 -o results/mine.json\n";
}

// The fields with the values of a preset's config.
std::vector<Field> with_values(const std::vector<Field>& fields, const nlohmann::json& config) {
  for (const Field& field : fields) {
    if (config.contains(field.name)) set_field(field, config[field.name], field.name);
  }
  return fields;
}

std::vector<FlagHelp> common_flags(const Experiment& experiment, const std::string& preset,
                                   const nlohmann::json& config) {
  CommonOptions options;
  std::vector<std::string> names;
  for (const StudyEntry& entry : experiment.studies) names.push_back(entry.name);
  options.study = names.front();
  options.preset = preset;
  options.threads = available_cores();
  std::vector<Field> fields = config_fields(options, names);
  // The default depends on the study; experiment_help() prints it with each study.
  options.trials = 0;
  for (Field& field : fields) {
    if (field.name == "trials") field = or_unset(std::move(field));
  }
  for (Field& field : session_fields(options)) fields.push_back(std::move(field));
  return flag_help(with_values(fields, config));
}

}  // namespace

std::vector<FlagHelp> flag_help(const std::vector<Field>& fields) {
  std::vector<FlagHelp> out;
  for (const Field& field : fields) {
    std::string text = field.symbol.empty() ? "" : field.symbol + ": ";
    text += field.help + " (" + field.domain_text() + ")";
    const std::string value = field.value_text();
    if (!value.empty() && !(field.zero_is_unset && value == "0")) text += " [" + value + "]";
    const char letter = short_flag(field.name);
    const std::string abbreviation = letter == 0 ? "" : std::string("-") + letter + ", ";
    out.push_back({abbreviation + "--" + field.name, text});
  }
  return out;
}

std::vector<FlagHelp> common_flags(const Experiment& experiment) {
  return common_flags(experiment, "", nlohmann::json::object());
}

std::string program_help() {
  std::string out = "ranklab " + version_line() +
                    ": experiments on the geometry of deep networks\n\n"
                    "Usage: ranklab COMMAND [flags]\n\nExperiments:\n";
  for (const Experiment& experiment : experiments()) {
    out += "  " + padded(experiment.name, 20) + wrapped(experiment.summary, 22);
  }
  out += "\nOther commands:\n";
  for (const Utility& utility : utilities()) {
    const std::string head = utility.name + (utility.usage.empty() ? "" : " " + utility.usage);
    out += "  " + padded(head + " ", 26) + wrapped(utility.summary, 28);
  }
  out +=
      "\n`ranklab COMMAND --help` (or `ranklab help COMMAND`) lists the flags of a command, with "
      "--study NAME those of one study;\n"
      "`ranklab --version` shows how the program was built.\n"
      "Exit codes: 0 success; 1 the run failed; 2 usage error; 3 a claim fails under --strict or "
      "contradicts the published verdict under --expect; 130 interrupted, 143 terminated.\n";
  return out;
}

std::string first_steps(const std::string& program_name) {
  const std::string as_typed =
      program_name == "ranklab" ? "" : "(not installed: type " + program_name + " for ranklab)\n";
  return "ranklab " + version_line() + ": experiments on the geometry of deep networks\n" +
         as_typed + R"(
To reproduce a figure of the papers, with error bars and a verdict on each claim:
  ranklab list                            the presets: figure, command, expected time
  ranklab run spectral-fig03              runs one and writes results/spectral-fig03.json
  ranklab plot results/spectral-fig03.json

To measure the ranks of your own matrices:
  ranklab ranks FOLDER                    ranklab.record() in PyTorch writes step<N>.safetensors

To check a result that someone gave you:
  ranklab verify RESULT.json              runs it again and compares
  ranklab compare A.json B.json           shows two results side by side

  ranklab help                            all commands
  ranklab help COMMAND --study NAME       the flags of one study, with an example
  ranklab help TERM                       )" +
         wrapped("explains one of: " + joined(terms()), 42);
}

namespace {

struct Term {
  std::string name, text;
  std::vector<std::string> lines = {};  // below the text, as they are
};

const std::vector<Term>& glossary() {
  static const std::vector<Term> list = {
      {"stable-rank",
       "st(A) = ||A||_F^2 / ||A||_op^2, between 1 and the rank of A: the effective number of "
       "directions that share the energy of a matrix, such as the activations that enter a layer."},
      {"nuclear-rank",
       "nr(G) = ||G||_*^2 / ||G||_F^2, between 1 and the rank of G. It is the effective number "
       "of singular values of a gradient."},
      {"polar",
       "The polar factor of G = U S V' is U V': all singular values become 1. Muon approximates it "
       "by Newton-Schulz steps."},
      {"spectral-step",
       "A step along the polar factor of the gradient. In least squares it beats a step along the "
       "gradient if nr(G) is large compared with st(A): condition (1.8) of [Spectral] is nr(G) >= "
       "st(A)."},
      {"mu",
       "mu(Y) = ||Y - 1 y'||_F with the mean token y. It is 0 if all tokens are equal. Normalized "
       "mu, mu(Y) / ||Y||_F, lies in [0, 1]."},
      {"rank-collapse",
       "The tokens of a deep stack become equal (mu falls to 0) or parallel (the rank-one residual "
       "falls to 0)."},
      {"trial",
       "One independent repetition: a seed, a draw, a training run or a sequence. --trials sets "
       "the number of trials."},
      {"verdict",
       "Of a claim: a claim about a mean holds if the 99 % confidence interval over the trials "
       "lies "
       "inside the claimed region, fails if it lies outside, and is undecided otherwise. A claim "
       "about all cases holds if no case violates it. An exponent, a limit or a figure is "
       "consistent with the run or not seen, which refutes nothing. A claim is not applicable if a "
       "hypothesis is not met. The verdict on a statement of a paper follows from its claims; "
       "results/README.md states the rule, and `ranklab papers` shows the verdicts."},
      {"slip",
       "Something that is wrong as printed: a typo or a wrong constant, a step of a proof, or a "
       "statement that is false. The catalog experiments/papers has its derivation with a "
       "counterexample. Claims judge the form as printed and the corrected form."},
      {"claim",
       "A statement about the numbers of a run, judged from its trials. Those of the papers are in "
       "the studies. --claim TEXT adds one of your own, to a run or to `ranklab judge RESULT`; so "
       "does \"report\": {\"claims\": [{\"id\": \"mine/NAME\", \"says\": ..., \"claim\": TEXT}]} "
       "in a preset. Names are those that `ranklab judge RESULT` lists; what a curve is over, such "
       "as iteration, is a name too. experiments/your-experiment.md has a tour.",
       {"", "gd.nuclear_rank >= stable_rank_A            at every point of every trial",
        "never diff(gd.nuclear_rank) > 0             the same for the opposite",
        "mean last(gd.loss) <= 0.1                   99 % interval of the mean over the trials",
        "often last(a) <= last(b) >= 0.9             in which share of the trials",
        "mean share(a >= 2 * b) in [0.5, 1]          how often a condition holds in a trial",
        "slope log(st) over log(n) in [0.4, 0.6]     an exponent, along a curve or over results",
        "alike loss[muon], loss[adam] within 0.01    paired by trial; loss[muon] is muon.loss",
        "... from iteration > argmax(loss)           only these points of curves", "",
        "values      + - * / ^ log log10 log2 exp sqrt abs min max",
        "conditions  < <= > >= and or not",
        "curves      first last sum mean median min max argmin argmax share diff at(CURVE, X)",
        "            when(CONDITION): x where it first holds",
        "names       'd=10.eta' in quotes if not of letters, digits, _ and dots",
        "            layer*.ratio for all; eta[d=10], ratio[layer=*, block=Wv] by axes, as",
        "            `at` of the result has them"}},
      {"precision",
       "--precision f32 computes the experiment in single precision; diagnostics such as ranks "
       "and mu are computed in double precision from its matrices. Only the studies of networks "
       "in this table have the flag. The table shows by how much the mean of a scalar may differ "
       "from the run in double precision, relative to its size, in a tiny run and in presets. "
       "Differences below 1e-6 do not count. No verdict differs in any row. `make test` checks "
       "the tiny runs, and `python3 tests/soak/soak.py precision` all rows, in about a minute on "
       "2 cores.",
       {"", "study         tiny run  presets", "mlp           0.3", "gpt           1e-6",
        "layers        1e-6      shallow-fig04 1e-6, shallow-fig05 1e-6", "lambda-sweep  1e-6",
        "ablation      1e-6      lambda-skip-fig04 1e-6", "train         1e-6", "",
        "mlp counts the singular values that are not zero, which depends on the rounding error.",
        "Normalized mu below 7.6e-6 is rounding noise in single precision; a note in the result",
        "says so, and a claim about smaller values is not applicable. Training amplifies",
        "rounding errors: after a few hundred steps, the two precisions give two different",
        "trainings, like two seeds. Compare their means over seeds."}},
      {"one-step-compare",
       "Compares one Euclidean step with one spectral step: on random problems, and in small "
       "networks and Transformers. `ranklab ranks` does so for your own matrices.",
       {"",
        "regression        takes one step of each kind from thousands of random (A, W, Y). It",
        "                  counts how often each of these is wrong, and by how much: the",
        "                  guarantees, the two-sided comparison at nr >= 2 st, and the condition",
        "                  nr >= st alone.",
        "mlp               records the ranks and condition (1.8) of every layer at every step.",
        "                  With --optimizer muon, the step is that of Newton-Schulz with",
        "                  momentum. Seeds that diverge are counted and named.",
        "mlp-init          compares stable ranks at initialization with the bounds, over the",
        "                  batch size.",
        "transformer-init  does so over the depth.",
        "curvature         computes the exact curvature of the loss of a small smooth network",
        "                  along gradients, polar factors and random directions, and compares it",
        "                  with the bound by layers on which condition (1.8) rests ([Spectral]",
        "                  Section 4). With the best length along each direction, the decreases",
        "                  have the ratio nr/st times two factors that (1.8) takes as 1: how",
        "                  tight the norm bounds are, and how much curvature a change of the",
        "                  features costs. --model transformer measures decoder blocks on text,",
        "                  and with them the constants of Section 4.2.1: for attention they grow",
        "                  like sqrt(d) and sqrt(T) in examples, not for normal tokens.",
        "gpt               trains a small GPT on real text (experiments/gpt.md)."}},
      {"spiked-model",
       "Why is the nuclear rank of the gradient small at the start? Why does one step make it "
       "grow like the dimension? For how long does this last? The labels are realizable; those of "
       "`teacher-student`, which has the same studies, come from other features.",
       {"",
        "gradient-rank     evaluates GD in closed form in the eigenbasis of the Gram matrix, so",
        "                  that iteration 1024 costs as much as iteration 1, and fits nr(W_0) and",
        "                  nr(W_1) against k.",
        "features          compares sampled spikes, bulks and covariances with the printed",
        "                  formulas. If the run contradicts a formula, the result also has a",
        "                  corrected form. With a teacher (preset spectral-thm3.7) it also",
        "                  judges, step by step, the proofs of Theorems 3.7 and 3.9 and of",
        "                  Corollary 3.8. --wide-d lists input dimensions at which Theorem 3.7 is",
        "                  measured with d^(7/4) features: there, its hypothesis is met but its",
        "                  bound is not. For (1.9), J_t is the curvature of the loss along the",
        "                  polar factor of the gradient; for a gradient of full rank, J_t/L_t is",
        "                  the stable rank of the features. The time of GD is the number of steps",
        "                  of size 1/||B|| until L - min L is below a fraction of its initial",
        "                  value, or below an absolute error.",
        "multi-spike       finds the burn-in and the end of the window in which nr >= d/4. A",
        "                  convexity argument makes both exact without evaluating every",
        "                  iteration."}},
      {"word",
       "An element of --also, --steps, --lr and other lists of words: "
       "NAME[+NAME...][:VALUE][,KEY=VALUE...]. In mamba2:800, 800 is the value for one model. "
       "attention+identity:64x256 is a model with identity value weights, 64 layers and width 256. "
       "muon,spectral-on=W1+W2 is an optimizer with a changed setting; plus signs separate the "
       "elements of a list in a setting. The help of each flag says which parts it takes."},
  };
  return list;
}

}  // namespace

std::vector<std::string> terms() {
  std::vector<std::string> names;
  for (const Term& term : glossary()) names.push_back(term.name);
  return names;
}

std::string definition_of(const std::string& name) {
  for (const Term& term : glossary()) {
    if (term.name != name) continue;
    std::string out = term.name + "\n    " + wrapped(term.text, 4);
    for (const std::string& line : term.lines) out += "    " + line + "\n";
    return out;
  }
  return "";
}

std::string topic_text(const std::vector<std::string>& words) {
  std::string term = joined(words, "-");
  std::replace(term.begin(), term.end(), ' ', '-');
  if (std::string definition = definition_of(term); !definition.empty()) return definition;
  if (is_preset(words[0])) {
    const Preset preset = read_preset(words[0]);
    const std::string figure =
        preset.source ? ": " + preset.source->paper + " " + preset.source->figure : "";
    return preset.name + "\n    " + wrapped(printable(preset.title), 4) + "    " +
           printable(preset.command + figure) + "\n\n    " +
           wrapped(printable(without_references(preset.see)), 4) + "    `ranklab run " +
           preset.name + "` runs it.\n";
  }
  const std::string figure = joined(words, " ");
  if (const auto presets = presets_of_figure(figure); !presets.empty())
    throw UsageError("help: presets of " + printable_key(figure) + ": " + joined(presets) +
                     "; `ranklab papers` has its statements");
  for (const Paper& paper : papers()) {
    for (const PaperStatement& statement : paper.statements) {
      if (is_named(statement, figure))
        throw UsageError("help: " + printable_key(figure) + " is " + statement.name + " of " +
                         paper.key + "; `ranklab papers " +
                         std::string(statement.id).replace(statement.id.find('/'), 1, " ") +
                         "` prints it");
    }
  }
  return "";
}

namespace {

// The flags that do something with the present values; then the names of the others, by what they
// need.
std::string flags_in_use(const std::vector<Field>& fields) {
  std::vector<Field> used;
  std::vector<std::pair<std::string, std::vector<std::string>>> others;
  for (const Field& field : fields) {
    if (!field.is_idle()) {
      used.push_back(field);
      continue;
    }
    auto same = std::find_if(others.begin(), others.end(),
                             [&](const auto& each) { return each.first == field.needs; });
    if (same == others.end()) same = others.insert(others.end(), {field.needs, {}});
    same->second.push_back("--" + field.name);
  }
  std::vector<std::pair<std::string, std::vector<Field>>> groups;
  for (const Field& field : used) {
    auto same = std::ranges::find(groups, field.group, [](const auto& each) { return each.first; });
    if (same == groups.end()) same = groups.insert(groups.end(), {field.group, {}});
    same->second.push_back(field);
  }
  std::string out;
  for (const auto& [group, fields_of_it] : groups)
    out += (group.empty() ? "" : "\n " + group + ":\n") + flag_lines(flag_help(fields_of_it));
  if (!others.empty()) out += "\nFlags that do nothing with these values, and what they need:\n";
  for (const auto& [needs, names] : others) out += "  " + wrapped(joined(names) + ": " + needs, 4);
  return out;
}

}  // namespace

std::string experiment_help(const Experiment& experiment, const Arguments& common,
                            const std::optional<Preset>& preset) {
  const bool names_study = common.find("study") != nullptr, all = !names_study && !preset,
             is_preset = preset && !names_study;
  RunRequest request = {is_preset ? preset : std::nullopt, {}, common};
  const StudyEntry& shown = study_of(experiment, request);
  if (!all) request.flags = parse_flags(experiment, shown, common.words);
  nlohmann::json config = nlohmann::json::object();
  if (is_preset) config = preset->config;
  const std::string call = is_preset ? "run " + preset->name
                           : all     ? experiment.name + " [--study NAME] [--preset NAME]"
                                 : experiment.name + " --study " + shown.name + " [--preset NAME]";
  std::string out = "Usage: ranklab " + call + " [flags]\n\n";
  if (all) out += wrapped(experiment.summary, 0) + "\nStudies:\n";
  if (is_preset) out += wrapped(preset->summary, 0) + "\n";
  const std::vector<StudyEntry> studies = all ? experiment.studies : std::vector{shown};
  for (const StudyEntry& entry : studies)
    out += "  " + padded(entry.name, 20) + wrapped(entry.summary, 22);
  for (const StudyEntry& entry : studies) {
    const std::uint64_t trials = config.value("trials", entry.default_trials);
    const auto study = all ? entry.make() : described_study(experiment, entry, request);
    out += "\nFlags of --study " + entry.name + " (" + plural(trials, "trial") +
           (is_preset ? "; the preset's values are in brackets" : " by default") + "):\n" +
           (all ? flag_lines(flag_help(study->flags())) : flags_in_use(study->flags()));
    const auto defaults = study->table_of_defaults();
    if (!all && !is_preset && !defaults.empty()) {
      out += "\nDefaults of each task:\n";
      for (const std::string& row : in_columns(defaults)) out += "  " + row + "\n";
    }
  }
  if (!experiment.inquiries.empty() && !is_preset) {
    out += "\nFlags that run nothing:\n";
    for (const Inquiry& inquiry : experiment.inquiries)
      out += padded("  --" + inquiry.flag + " FILE", 24) + wrapped(inquiry.help, 24);
  }
  out += "\nFlags of every experiment:\n" +
         flag_lines(common_flags(experiment, is_preset ? preset->name : "", config));
  out +=
      "\nLists are comma-separated. A flag overrides the config file, which overrides the preset, "
      "which overrides the default.\n"
      "The result is written to results/<preset or command-study>.json unless --out is given.\n";
  if (all) return out;
  return out + "\nExample:\n" +
         (is_preset ? "  ranklab run " + preset->name + " --seed 2 -o results/mine.json\n"
                    : example(experiment, shown));
}

std::string usage_of(const Utility& utility) {
  return utility.name + (utility.usage.empty() ? "" : " " + utility.usage) +
         (utility.flags.empty() ? "" : " [flags]");
}

std::string description_of(const Utility& utility) {
  return capitalized(utility.summary) + "." +
         (utility.details.empty() ? "" : " " + utility.details);
}

std::string utility_help(const Utility& utility) {
  return "Usage: ranklab " + usage_of(utility) + "\n\n" + wrapped(description_of(utility), 0) +
         (utility.flags.empty() ? "" : "\nFlags:\n" + flag_lines(flag_help(utility.flags)));
}

}  // namespace ranklab
