import type { LanguagePair } from './memory-record.ts';
import { normalText } from '../text/normal-text.ts';

/** The keys of a context that identify a place. Other keys are kept on the record and change nothing. */
export const CONTEXT_KEYS = [
  'destination',
  'archive_entry',
  'path_id',
  'field_path',
  'speaker',
  'previous',
  'next',
] as const;

/** Hexadecimal digits of a context key: 128 bits. */
const CONTEXT_KEY_DIGITS = 32;

/** A digest of a text as hexadecimal digits; the same for the same text. */
export type TextDigest = (text: string) => string;

/** The key of a context: a digest of its values of {@link CONTEXT_KEYS}, whatever their order. Empty when it has none. */
export function contextKeyOf(context: Readonly<Record<string, string>>, digest: TextDigest): string {
  const values = CONTEXT_KEYS.filter((key) => Object.hasOwn(context, key)).map((key) => [
    key,
    normalText(context[key] ?? ''),
  ]);
  return values.length === 0 ? '' : digest(JSON.stringify(values)).slice(0, CONTEXT_KEY_DIGITS);
}

/**
 * The identity of a record: its source text, its two languages and its context, without the target. The first three parts have no NUL, so two different records never make the same text.
 */
export function identityOf(
  { source_language, target_language }: LanguagePair,
  normalizedSource: string,
  contextKey: string,
  digest: TextDigest,
): string {
  return digest([source_language, target_language, contextKey, normalizedSource].join('\0'));
}
