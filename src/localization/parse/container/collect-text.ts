import { readCsv, type CsvOptions } from '../../../formats/csv/read-csv.ts';
import { patchCsv } from '../../../formats/csv/patch-csv.ts';
import { patchJson } from '../../../formats/json/patch-json.ts';
import { readJson } from '../../../formats/json/read-json.ts';
import { isNested, type FieldEdit, type ValueEdit } from '../../../formats/patch/find-places.ts';
import { PatchError } from '../../../formats/patch/patch-error.ts';
import { patchPo } from '../../../formats/po/patch-po.ts';
import { readPo } from '../../../formats/po/read-po.ts';
import type { CompiledScript } from '../../../formats/script/compile-script.ts';
import { patchScript } from '../../../formats/script/patch-script.ts';
import { readScript } from '../../../formats/script/read-script.ts';
import { scriptPreset, type ScriptPreset } from '../../../formats/script/script-presets.ts';
import { patchLines } from '../../../formats/text/patch-text.ts';
import { patchXml } from '../../../formats/xml/patch-xml.ts';
import { readXml } from '../../../formats/xml/read-xml.ts';
import { presetSelection, presetSiblings } from '../rules/format-presets.ts';
import type { RuleFormat } from '../rules/parse-config.ts';
import {
  decodedString,
  decodeText,
  type DecodedText,
  type NamedEncoding,
} from '../../../formats/text/decode-text.ts';
import { readLines, type ReadTarget } from '../../../formats/text/report-text.ts';
import type { ReadLimits, ReportPartError } from '../../../formats/value-visitor.ts';
import type { CompiledRule } from '../rules/compile-rules.ts';
import {
  DOTTED_SYNTAX,
  POINTER_SYNTAX,
  XML_SYNTAX,
  type PathSyntax,
} from '../../../formats/collect/path-syntax.ts';
import { TextCollector, type Collected } from '../../../formats/collect/text-collector.ts';

/** The formats of text files, each with its reader. */
const READERS = {
  json: 'json',
  'rpg-maker': 'json',
  csv: 'csv',
  tsv: 'csv',
  text: 'lines',
  script: 'script',
  tyrano: 'script',
  renpy: 'script',
  yarn: 'script',
  properties: 'script',
  strings: 'script',
  xml: 'xml',
  android: 'xml',
  resx: 'xml',
  po: 'po',
} as const satisfies Partial<Record<RuleFormat, string>>;

export type TextFormat = keyof typeof READERS;

export function isTextFormat(format: string): format is TextFormat {
  return Object.hasOwn(READERS, format);
}

/** The encoding that a rule demands; `undefined` where a byte order mark decides, and UTF-8 is the default. */
export function encodingOf({ encoding }: CompiledRule): NamedEncoding | undefined {
  return encoding === 'utf-8' ? undefined : encoding;
}

/** @param format of the text file; `null` for a file of another format */
export function collectorFor(
  rule: CompiledRule,
  syntax: PathSyntax,
  format: TextFormat | null = null,
): TextCollector {
  const reader = format === null ? null : READERS[format];
  const isScript = reader === 'script';
  return new TextCollector({
    syntax,
    // Attributes identify elements as fields identify rows.
    rowKeys: reader === 'xml' ? [...rule.rowKeys, ...XML_KEYS] : isScript ? [['key']] : rule.rowKeys,
    speakerFields: isScript ? SCRIPT_SPEAKER : rule.speakerFields,
    sceneFields: isScript ? SCRIPT_SCENE : rule.sceneFields,
    siblingFields: new Set([...rule.conditionFields, ...(format === null ? [] : presetSiblings(format))]),
    isCandidate: rule.hasSourceScript,
    mayNest: (fieldName) => rule.nestedFormat(fieldName) !== undefined,
  });
}

const XML_KEYS = [['@name'], ['@id'], ['@key'], ['@quantity']];
const SCRIPT_SPEAKER = new Set(['speaker']);
const SCRIPT_SCENE = new Set(['scene']);

/**
 * Decodes the text of a file, or of a field that holds one.
 *
 * @throws FormatError when it is not in the encoding that the rule demands
 */
export function decodedValue(value: string | Uint8Array, rule: CompiledRule): DecodedText {
  return typeof value === 'string' ? decodedString(value) : decodeText(value, encodingOf(rule));
}

export function syntaxOf(format: TextFormat): PathSyntax {
  const reader = READERS[format];
  if (reader === 'json') return POINTER_SYNTAX;
  return reader === 'xml' ? XML_SYNTAX : DOTTED_SYNTAX;
}

function csvOptionsOf(format: TextFormat, { header, delimiter }: CompiledRule): CsvOptions {
  return { delimiter: format === 'tsv' && delimiter === 'auto' ? '\t' : delimiter, header };
}

/** The patterns of a script: those of the rule, or those of an engine. */
function scriptOf(format: TextFormat, { script }: CompiledRule): CompiledScript {
  if (format !== 'script') return scriptPreset(format as ScriptPreset);
  // The schema of rules demands them for the format.
  if (script === null) throw new Error('the rule of a script has no patterns');
  return script;
}

/** Reads a text file. @throws FormatError when the file as a whole cannot be read */
export function readText(
  decoded: DecodedText,
  format: TextFormat,
  rule: CompiledRule,
  target: ReadTarget,
): void {
  switch (READERS[format]) {
    case 'json':
      readJson(decoded, target);
      break;
    case 'csv':
      readCsv(decoded, csvOptionsOf(format, rule), target);
      break;
    case 'lines':
      readLines(decoded, target);
      break;
    case 'script':
      readScript(decoded, scriptOf(format, rule), target);
      break;
    case 'xml':
      readXml(decoded, target);
      break;
    case 'po':
      readPo(decoded, target);
      break;
  }
}

/**
 * Replaces texts of a text file.
 *
 * @param value a file, or a string that holds one
 * @throws PatchError; FormatError when the text cannot be read
 */
export function patchText(
  value: string | Uint8Array,
  format: TextFormat,
  edits: readonly ValueEdit[],
  { rule, limits }: { readonly rule: CompiledRule; readonly limits: ReadLimits },
): string | Uint8Array {
  const options = { encoding: encodingOf(rule), limits };
  switch (READERS[format]) {
    case 'json':
      return patchJson(value, edits, options);
    case 'csv':
      return patchCsv(value, edits, { ...csvOptionsOf(format, rule), ...options });
    case 'lines':
      return patchLines(value, edits.map(withoutFile), options);
    case 'script':
      return patchScript(value, edits, scriptOf(format, rule), options);
    case 'xml':
      return patchXml(value, edits, options);
    case 'po':
      return patchPo(value, edits, options);
  }
}

function withoutFile(edit: ValueEdit): FieldEdit {
  if (!isNested(edit)) return edit;
  throw new PatchError('place_not_found', edit.fieldPath, 'a line of a text holds no file');
}

/** Collects the strings of a text file. @throws FormatError when the file as a whole cannot be read */
export function collectText(
  decoded: DecodedText,
  format: TextFormat,
  rule: CompiledRule,
  { limits, reportPartError }: { readonly limits: ReadLimits; readonly reportPartError: ReportPartError },
): Collected {
  const visitor = collectorFor(rule, syntaxOf(format), format);
  readText(decoded, format, rule, { visitor, limits, reportPartError });
  const collected = visitor.finish();
  const isSelected = presetSelection(format);
  if (isSelected === null) return collected;
  const texts = collected.texts.filter(({ fieldPath, siblingOf }) => isSelected(fieldPath, siblingOf));
  return { ...collected, texts, unselected: collected.texts.length - texts.length };
}
