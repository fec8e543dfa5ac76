import { createFieldGlob } from '../../../domain/text/field-glob.ts';
import type { ParseRule } from './parse-config.ts';

type TextLimits = Omit<ParseRule['limits'][number], 'fields'>;

/** The limits, characters and tags of translations. The parser does not check it, so it is not part of any digest of rules. */
export interface TextConstraints {
  readonly tags: ParseRule['tags'];
  readonly repetitions: boolean;
  /** The characters that a translation may have, each a code point; `null`: all. */
  readonly charset: ReadonlySet<string> | null;
  /** The limits of a field, by the first of `limits` that matches. */
  limitsFor(fieldPath: string): TextLimits;
}

/**
 * Prepares what a rule says about translations.
 *
 * @param charset the content of the file that the rule names
 * @throws Error when the file cannot be used
 */
export function compileConstraints(
  { limits, tags, repetitions }: ParseRule,
  charset: Uint8Array | null,
): TextConstraints {
  const byField = limits.map(({ fields, ...rest }) => ({ globs: fields.map(createFieldGlob), limits: rest }));
  return {
    tags,
    repetitions,
    charset: charset === null ? null : readCharset(charset),
    limitsFor: (path) =>
      byField.find(({ globs }) => globs.length === 0 || globs.some((matches) => matches(path)))?.limits ?? {},
  };
}

function readCharset(bytes: Uint8Array): ReadonlySet<string> {
  const characters = new Set(new TextDecoder('utf-8', { fatal: true }).decode(bytes));
  for (const lineBreak of ['\r', '\n']) characters.delete(lineBreak);
  if (characters.size === 0) throw new Error('the file has no character');
  return characters;
}
