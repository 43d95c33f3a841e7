#include "transforms/composed.hpp"

#include "transforms/reverse.hpp"

namespace mx {

Value alias_of(const Value &value) {
  if (value.node->state() != NodeState::done) return make(OpCode::depends, {}, {value});
  const Output &output = value.node->output(value.index);
  Value alias = make_done(output.spec, output.layout, output.buffer);
  if (Trace *trace = trace_of(value)) {
    alias.node->trace = Ref<Trace>::share(*trace);
    if (trace->kind == TraceKind::transform)
      static_cast<TransformTrace &>(*trace).record(make_ref<Record>(ValueVector{value}, ValueVector{alias}));
  }
  return alias;
}

namespace transforms {

void through_composition(Step &t, Value (*compose)(const Step &t, Values inputs)) {
  ValueVector aliases, sources;
  for (size_t i = 0; i < t.n_inputs(); i++) aliases.push_back(alias_of(t.x(i)));
  const auto trace = make_ref<TransformTrace>(innermost_trace());
  push_trace(*trace);
  struct Ending {
    TransformTrace &trace;
    ~Ending() { trace.abandon(); }
  } ending{*trace};
  for (size_t i = 0; i < aliases.size(); i++) {
    if (!t.wants(i)) continue;
    aliases[i].node->trace = trace;
    sources.push_back(aliases[i]);
  }
  const Value out = compose(t, aliases);
  Reverse reverse(trace->finish(), sources);
  reverse.seed(out, t.g());
  reverse.run();
  for (size_t i = 0; i < aliases.size(); i++) {
    if (!t.wants(i)) continue;
    const Value gradient = reverse.gradient(aliases[i]);
    if (gradient.node) t.give(i, t.term(gradient));
  }
}

}  // namespace transforms
}  // namespace mx
