import type { FieldConstraints, FieldEncoding } from '../../../domain/text/checks/check-input.ts';
import { UTF_16, UTF_8 } from '../../../domain/text/checks/field-encodings.ts';
import { CP932 } from '../../../formats/text/cp932-encoding.ts';
import type { CompiledRule } from '../../parse/rules/compile-rules.ts';

/** The parts of a rule that limit translations. */
export type JudgingRule = Pick<CompiledRule, 'format' | 'encoding' | 'constraints'>;

const ENCODINGS: Readonly<Record<CompiledRule['encoding'], FieldEncoding>> = {
  'utf-8': UTF_8,
  'utf-16': UTF_16,
  cp932: CP932,
};

/** Formats whose strings are UTF-8, whatever the encoding of text files is. */
const ALWAYS_UTF_8: ReadonlySet<CompiledRule['format']> = new Set(['unity', 'sqlite', 'flatbuffers']);

/** The demands of a rule on the texts of a field. */
export function fieldConstraints(
  { format, encoding, constraints }: JudgingRule,
  fieldPath: string,
): FieldConstraints {
  const { charset, tags } = constraints;
  return {
    ...constraints.limitsFor(fieldPath),
    encoding: ALWAYS_UTF_8.has(format) ? UTF_8 : ENCODINGS[encoding],
    tagGrammar: tags,
    ...(charset === null
      ? {}
      : { glyphs: { has: (codePoint) => charset.has(String.fromCodePoint(codePoint)) } }),
  };
}
