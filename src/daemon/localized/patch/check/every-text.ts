import type { CompiledRule, CompiledRules } from '../../../parse/rules/compile-rules.ts';

/**
 * The same rules, by which every string is a unit. A target seldom has characters of the source script, so by the rules
 * themselves it would not be found again; and the strings beside the units must not change either.
 */
export function everyText({
  ruleFor,
  secrets,
}: Pick<CompiledRules, 'ruleFor' | 'secrets'>): Pick<CompiledRules, 'ruleFor' | 'secrets'> {
  const widened = new Map<CompiledRule, CompiledRule>();
  return {
    secrets,
    ruleFor: (destination, entry) => {
      const rule = ruleFor(destination, entry);
      const known = widened.get(rule) ?? {
        ...rule,
        hasSourceScript: () => true,
        isSelectedField: () => true,
        rowKeys: [],
      };
      widened.set(rule, known);
      return known;
    },
  };
}
