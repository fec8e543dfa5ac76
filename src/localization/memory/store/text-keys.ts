import { identityOf, contextKeyOf, type TextDigest } from '../../../domain/memory/identity.ts';
import type { LanguagePair } from '../../../domain/memory/memory-record.ts';
import { foldWidth } from '../../../domain/memory/normalize-text.ts';
import { normalText } from '../../../domain/text/normal-text.ts';
import { maskNumbers } from '../../../domain/memory/number-match.ts';
import { blake3OfText } from '../../../platform/hashing/text-blake3.ts';

/** A source text with the keys by which equal ones are found. */
export interface SourceKeys {
  readonly normalized: string;
  readonly sourceKey: number;
  readonly contextKey: string;
}

const digestHex: TextDigest = (text) => Buffer.from(blake3OfText(text)).toString('hex');

export function sourceKeysOf(
  pair: LanguagePair,
  sourceText: string,
  context: Readonly<Record<string, string>>,
): SourceKeys {
  const normalized = normalText(sourceText);
  return {
    normalized,
    sourceKey: keyOf(pair, normalized),
    contextKey: contextKeyOf(context, digestHex),
  };
}

/** The identity of a text in a context, as the database stores it. */
export function identityBytes(pair: LanguagePair, { normalized, contextKey }: SourceKeys): Uint8Array {
  return Buffer.from(identityOf(pair, normalized, contextKey, digestHex), 'hex');
}

/** The keys by which sources are found that differ in width or in numbers. */
export function variantKeysOf(
  pair: LanguagePair,
  normalized: string,
): {
  readonly widthKey: number;
  /** `null` without a number. */
  readonly numbersKey: number | null;
} {
  const { masked, numbers } = maskNumbers(normalized);
  return {
    widthKey: keyOf(pair, foldWidth(normalized)),
    numbersKey: numbers.length === 0 ? null : keyOf(pair, masked),
  };
}

export function targetKeyOf(normalized: string): number {
  return shortKey(normalized);
}

function keyOf({ source_language, target_language }: LanguagePair, text: string): number {
  return shortKey(`${source_language}\0${target_language}\0${text}`);
}

/** 48 bits: an integer that JavaScript holds exactly. Equal keys are not proof, so texts are compared too. */
function shortKey(text: string): number {
  return Buffer.from(blake3OfText(text)).readUIntBE(0, 6);
}
