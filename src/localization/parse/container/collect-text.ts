import { readCsv, type CsvOptions } from '../../../formats/csv/read-csv.ts';
import { readJson } from '../../../formats/json/read-json.ts';
import { decodedString, decodeText, type DecodedText } from '../../../formats/text/decode-text.ts';
import { readLines, type ReadTarget } from '../../../formats/text/report-text.ts';
import type { ReadLimits, ReportPartError } from '../../../formats/value-visitor.ts';
import type { CompiledRule } from '../rules/compile-rules.ts';
import { DOTTED_SYNTAX, POINTER_SYNTAX, type PathSyntax } from '../../../formats/collect/path-syntax.ts';
import { TextCollector, type Collected } from '../../../formats/collect/text-collector.ts';

const TEXT_FORMATS = ['json', 'csv', 'tsv', 'text'] as const;

export type TextFormat = (typeof TEXT_FORMATS)[number];

export function isTextFormat(format: string): format is TextFormat {
  return (TEXT_FORMATS as readonly string[]).includes(format);
}

/** The encoding that a rule demands; `undefined` where a byte order mark decides, and UTF-8 is the default. */
export function encodingOf({ encoding }: CompiledRule): 'cp932' | 'utf-16' | undefined {
  return encoding === 'utf-8' ? undefined : encoding;
}

export function collectorFor(rule: CompiledRule, syntax: PathSyntax): TextCollector {
  return new TextCollector({
    syntax,
    rowKeys: rule.rowKeys,
    speakerFields: rule.speakerFields,
    sceneFields: rule.sceneFields,
    isCandidate: rule.hasSourceScript,
    mayNest: (fieldName) => rule.nestedFormat(fieldName) !== undefined,
  });
}

/**
 * Decodes the text of a file, or of a field that holds one.
 *
 * @throws FormatError when it is not in the encoding that the rule demands
 */
export function decodedValue(value: string | Uint8Array, rule: CompiledRule): DecodedText {
  return typeof value === 'string' ? decodedString(value) : decodeText(value, encodingOf(rule));
}

export function syntaxOf(format: TextFormat): PathSyntax {
  return format === 'json' ? POINTER_SYNTAX : DOTTED_SYNTAX;
}

export function csvOptionsOf(format: 'csv' | 'tsv', { header }: CompiledRule): CsvOptions {
  return { delimiter: format === 'csv' ? ',' : '\t', header };
}

/** Reads a text file. @throws FormatError when the file as a whole cannot be read */
export function readText(
  decoded: DecodedText,
  format: TextFormat,
  rule: CompiledRule,
  target: ReadTarget,
): void {
  if (format === 'json') readJson(decoded, target);
  else if (format === 'text') readLines(decoded, target);
  else readCsv(decoded, csvOptionsOf(format, rule), target);
}

/** Collects the strings of a text file. @throws FormatError when the file as a whole cannot be read */
export function collectText(
  decoded: DecodedText,
  format: TextFormat,
  rule: CompiledRule,
  { limits, reportPartError }: { readonly limits: ReadLimits; readonly reportPartError: ReportPartError },
): Collected {
  const visitor = collectorFor(rule, syntaxOf(format));
  readText(decoded, format, rule, { visitor, limits, reportPartError });
  return visitor.finish();
}
