import { failure, success, type Result } from '../../../domain/result.ts';
import {
  maskPlaceholders,
  restorePlaceholders,
  type MaskStyle,
  type MaskedText,
} from '../../../domain/translation/placeholder-mask.ts';
import { findRows } from './answer-json.ts';
import type { RowFailure } from './ask-until-settled.ts';
import { memberOf } from './member-of.ts';
import type { UnitToTranslate } from './provider.ts';

/** Characters of the source that a row repeats, so that swapped rows are noticed. */
export const ECHO_CHARACTERS = 12;

/** A unit with its short id in one request. */
export interface AskedLine {
  readonly id: string;
  readonly unitId: string;
  readonly masked: MaskedText;
}

/** The first characters (code points) of a line. */
function echoOf(text: string): string {
  // A code point has at most two units.
  return Array.from(text.slice(0, ECHO_CHARACTERS * 2))
    .slice(0, ECHO_CHARACTERS)
    .join('');
}

/**
 * The JSON Schema of an answer with a row for every line. It is the same for all requests, so that providers can cache the compiled schema;
 * ids that are missing are asked for again.
 *
 * @param members of a row beside its id and the repeated beginning
 */
export function rowsSchema(members: Readonly<Record<string, object>>): object {
  const row = {
    type: 'object',
    properties: { id: { type: 'string' }, s: { type: 'string' }, ...members },
    required: ['id', 's', ...Object.keys(members)],
    additionalProperties: false,
  };
  return {
    type: 'object',
    properties: { rows: { type: 'array', items: row } },
    required: ['rows'],
    additionalProperties: false,
  };
}

/** The JSON Schema of translations. */
export const TRANSLATION_SCHEMA = rowsSchema({ t: { type: 'string' } });

/**
 * Reads the text of a model's answer.
 *
 * @param rules of the prompt; a row that repeats one of them is not used
 * @returns rows by unit id; rows whose id is unknown are left out
 * @throws ProviderError `answer_malformed` when there is no JSON in it
 */
export function readAnswerRows(
  content: string,
  lines: readonly AskedLine[],
  style: MaskStyle,
  rules: string,
): Map<string, Result<string, RowFailure>> {
  const sentences = sentencesOf(rules);
  return readRows(
    content,
    lines.map((line) => ({ ...line, text: line.masked.text })),
    (row, { masked }) => {
      const text = memberOf(row, 't');
      if (typeof text === 'string' && repeatsPrompt(text, masked.text, sentences))
        return failure(PROMPT_REPEATED);
      if (typeof text === 'string') return restoredRow(text, masked, style);
      return failure({ code: 'answer_malformed', message: 'the row has no string "t"' });
    },
  );
}

const PROMPT_REPEATED: RowFailure = {
  code: 'answer_malformed',
  message: 'the translation contains a sentence of the prompt',
};

/** Shortest part of a prompt that no translation has by chance. */
const SENTENCE_CHARACTERS = 24;

function sentencesOf(rules: string): readonly string[] {
  return rules
    .split(/[.:;\n]/)
    .map((sentence) => sentence.trim().toLowerCase())
    .filter(({ length }) => length >= SENTENCE_CHARACTERS);
}

function repeatsPrompt(text: string, source: string, sentences: readonly string[]): boolean {
  const [said, asked] = [text.toLowerCase(), source.toLowerCase()];
  return sentences.some((sentence) => said.includes(sentence) && !asked.includes(sentence));
}

/** A line of a request, with the text that its row begins with. */
export interface EchoedLine {
  readonly id: string;
  readonly unitId: string;
  readonly text: string;
}

/**
 * Reads the rows of a model's answer: a JSON object with a member for every id, whatever is around it.
 *
 * @param readRow reads the rest of a row that repeats the beginning of its text
 * @returns rows by unit id; rows whose id is unknown are left out
 * @throws ProviderError `answer_malformed` when there is no JSON in it
 */
export function readRows<Line extends EchoedLine, Value>(
  content: string,
  lines: readonly Line[],
  readRow: (row: unknown, line: Line) => Result<Value, RowFailure>,
): Map<string, Result<Value, RowFailure>> {
  const found = findRows(
    content,
    lines.map(({ id }) => id),
  );
  const rows = new Map<string, Result<Value, RowFailure>>();
  for (const line of lines) {
    const row = found.get(line.id);
    if (row === undefined) continue;
    const echo = memberOf(row, 's');
    const echoes = typeof echo === 'string' && comparable(echo) === comparable(echoOf(line.text));
    rows.set(line.unitId, echoes ? readRow(row, line) : failure(NO_ECHO));
  }
  return rows;
}

const NO_ECHO: RowFailure = {
  code: 'answer_malformed',
  message: 'the row does not repeat the beginning of its source in "s"',
};

/**
 * Checks and restores one translation.
 *
 * @param text as the provider gave it
 */
export function restoredRow(text: string, masked: MaskedText, style: MaskStyle): Result<string, RowFailure> {
  if (text.trim() === '' && masked.text.trim() !== '') {
    return failure({ code: 'answer_malformed', message: 'the translation is empty' });
  }
  const restored = restorePlaceholders(text, masked, style);
  if (restored.ok) return success(restored.value);
  return failure({ code: 'placeholders_changed', message: restored.error });
}

/** Models normalize and trim what they repeat. */
function comparable(text: string): string {
  return text.normalize('NFC').trim();
}

interface MaskedUnit {
  readonly unit: UnitToTranslate;
  readonly masked: MaskedText;
}

/**
 * Masks the sources of units.
 *
 * @returns the units that can be sent in their order, and the failures of those that cannot, by unit id
 */
export function maskUnits(
  units: readonly UnitToTranslate[],
  style: MaskStyle,
): {
  readonly sendable: readonly MaskedUnit[];
  readonly failed: ReadonlyMap<string, Result<string, RowFailure>>;
} {
  const sendable: MaskedUnit[] = [];
  const failed = new Map<string, Result<string, RowFailure>>();
  for (const unit of units) {
    const masked = maskPlaceholders(unit.sourceText, style);
    if (masked !== null) {
      sendable.push({ unit, masked });
      continue;
    }
    const message = 'the source has more distinct placeholders than there are tokens';
    failed.set(unit.unitId, failure({ code: 'too_many_placeholders', message }));
  }
  return { sendable, failed };
}
