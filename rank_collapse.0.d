rank_collapse.0.o: \
 /tmp/w/bt/units/computes/src/experiments/rank_collapse.0.cpp \
 src/experiments/rank_collapse/bounds/attention.cpp src/core/fits.hpp \
 src/core/tolerances.hpp \
 src/experiments/rank_collapse/bounds/split_attention.hpp \
 src/experiments/rank_collapse/bounds/without_skip.hpp \
 src/experiments/rank_collapse/bounds/bounds.hpp src/core/record.hpp \
 src/core/undefined.hpp src/core/text.hpp \
 src/experiments/rank_collapse/bounds/config.hpp \
 src/experiments/study.hpp src/core/fields.hpp src/report/result.hpp \
 src/core/statistics.hpp src/report/figure/figure.hpp src/run/trials.hpp \
 src/core/random.hpp src/models/blocks/model_spec.hpp \
 src/linalg/similarity.hpp src/models/blocks/norms.hpp \
 src/models/dropout.hpp src/report/claims.hpp \
 src/experiments/rank_collapse/stack_source.hpp \
 src/models/blocks/stack.hpp src/models/blocks/block.hpp \
 src/models/blocks/tensors.hpp src/models/blocks/model_row.hpp \
 src/models/blocks/layout.hpp src/models/blocks/bare_block.hpp \
 src/experiments/rank_collapse/bounds/bounds.cpp \
 src/experiments/rank_collapse/bounds/skips.cpp \
 src/experiments/rank_collapse/bounds/skips.hpp \
 src/linalg/decompositions.hpp \
 src/experiments/rank_collapse/bounds/split_attention.cpp \
 src/experiments/rank_collapse/bounds/state_space.cpp \
 src/experiments/rank_collapse/bounds/trial.cpp
src/experiments/rank_collapse/bounds/attention.cpp:
src/core/fits.hpp:
src/core/tolerances.hpp:
src/experiments/rank_collapse/bounds/split_attention.hpp:
src/experiments/rank_collapse/bounds/without_skip.hpp:
src/experiments/rank_collapse/bounds/bounds.hpp:
src/core/record.hpp:
src/core/undefined.hpp:
src/core/text.hpp:
src/experiments/rank_collapse/bounds/config.hpp:
src/experiments/study.hpp:
src/core/fields.hpp:
src/report/result.hpp:
src/core/statistics.hpp:
src/report/figure/figure.hpp:
src/run/trials.hpp:
src/core/random.hpp:
src/models/blocks/model_spec.hpp:
src/linalg/similarity.hpp:
src/models/blocks/norms.hpp:
src/models/dropout.hpp:
src/report/claims.hpp:
src/experiments/rank_collapse/stack_source.hpp:
src/models/blocks/stack.hpp:
src/models/blocks/block.hpp:
src/models/blocks/tensors.hpp:
src/models/blocks/model_row.hpp:
src/models/blocks/layout.hpp:
src/models/blocks/bare_block.hpp:
src/experiments/rank_collapse/bounds/bounds.cpp:
src/experiments/rank_collapse/bounds/skips.cpp:
src/experiments/rank_collapse/bounds/skips.hpp:
src/linalg/decompositions.hpp:
src/experiments/rank_collapse/bounds/split_attention.cpp:
src/experiments/rank_collapse/bounds/state_space.cpp:
src/experiments/rank_collapse/bounds/trial.cpp:
