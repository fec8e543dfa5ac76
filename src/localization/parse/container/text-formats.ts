import {
  DOTTED_SYNTAX,
  POINTER_SYNTAX,
  XML_SYNTAX,
  type PathSyntax,
} from '../../../formats/collect/path-syntax.ts';
import { patchCsv } from '../../../formats/csv/patch-csv.ts';
import { readCsv, type CsvOptions } from '../../../formats/csv/read-csv.ts';
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
import {
  decodedString,
  decodeText,
  type DecodedText,
  type NamedEncoding,
} from '../../../formats/text/decode-text.ts';
import { patchLines, type PatchTextOptions } from '../../../formats/text/patch-text.ts';
import { readLines, type ReadTarget } from '../../../formats/text/report-text.ts';
import { patchXml } from '../../../formats/xml/patch-xml.ts';
import { readXml } from '../../../formats/xml/read-xml.ts';
import type { ReadLimits } from '../../../formats/value-visitor.ts';
import type { CompiledRule } from '../rules/compile-rules.ts';
import type { RuleFormat } from '../rules/parse-config.ts';

/** What names rows, speakers and scenes in a file. */
interface FieldNames {
  readonly rowKeys: readonly (readonly string[])[];
  readonly speakerFields: ReadonlySet<string>;
  readonly sceneFields: ReadonlySet<string>;
}

/** Reads and replaces the texts of one kind of file. */
interface TextReader {
  readonly syntax: PathSyntax;
  readonly read: (decoded: DecodedText, format: TextFormat, rule: CompiledRule, target: ReadTarget) => void;
  readonly patch: (
    value: string | Uint8Array,
    edits: readonly ValueEdit[],
    { format, rule, options }: TextPatch,
  ) => string | Uint8Array;
  /** Where the format has such names of its own, and not only those of the rule. */
  readonly fieldNames?: (rule: CompiledRule) => FieldNames;
}

interface TextPatch {
  readonly format: TextFormat;
  readonly rule: CompiledRule;
  readonly options: PatchTextOptions;
}

const JSON_READER: TextReader = {
  syntax: POINTER_SYNTAX,
  read: (decoded, _format, _rule, target) => readJson(decoded, target),
  patch: (value, edits, { options }) => patchJson(value, edits, options),
};

const CSV_READER: TextReader = {
  syntax: DOTTED_SYNTAX,
  read: (decoded, format, rule, target) => readCsv(decoded, csvOptionsOf(format, rule), target),
  patch: (value, edits, { format, rule, options }) =>
    patchCsv(value, edits, { ...csvOptionsOf(format, rule), ...options }),
};

const LINE_READER: TextReader = {
  syntax: DOTTED_SYNTAX,
  read: (decoded, _format, _rule, target) => readLines(decoded, target),
  patch: (value, edits, { options }) => patchLines(value, edits.map(withoutFile), options),
};

const SCRIPT_NAMES: FieldNames = {
  rowKeys: [['key']],
  speakerFields: new Set(['speaker']),
  sceneFields: new Set(['scene']),
};

const SCRIPT_READER: TextReader = {
  syntax: DOTTED_SYNTAX,
  read: (decoded, format, rule, target) => readScript(decoded, scriptOf(format, rule), target),
  patch: (value, edits, { format, rule, options }) =>
    patchScript(value, edits, scriptOf(format, rule), options),
  fieldNames: () => SCRIPT_NAMES,
};

/** Attributes identify elements as fields identify rows. */
const XML_KEYS = [['@name'], ['@id'], ['@key'], ['@quantity']];

const XML_READER: TextReader = {
  syntax: XML_SYNTAX,
  read: (decoded, _format, _rule, target) => readXml(decoded, target),
  patch: (value, edits, { options }) => patchXml(value, edits, options),
  fieldNames: ({ rowKeys, speakerFields, sceneFields }) => ({
    rowKeys: [...rowKeys, ...XML_KEYS],
    speakerFields,
    sceneFields,
  }),
};

const PO_READER: TextReader = {
  syntax: DOTTED_SYNTAX,
  read: (decoded, _format, _rule, target) => readPo(decoded, target),
  patch: (value, edits, { options }) => patchPo(value, edits, options),
};

/** The formats of text files. */
const READERS = {
  json: JSON_READER,
  'rpg-maker': JSON_READER,
  csv: CSV_READER,
  tsv: CSV_READER,
  text: LINE_READER,
  script: SCRIPT_READER,
  tyrano: SCRIPT_READER,
  renpy: SCRIPT_READER,
  yarn: SCRIPT_READER,
  properties: SCRIPT_READER,
  strings: SCRIPT_READER,
  xml: XML_READER,
  android: XML_READER,
  resx: XML_READER,
  po: PO_READER,
} as const satisfies Partial<Record<RuleFormat, unknown>>;

export type TextFormat = keyof typeof READERS;

export function isTextFormat(format: string): format is TextFormat {
  return Object.hasOwn(READERS, format);
}

export function syntaxOf(format: TextFormat): PathSyntax {
  return READERS[format].syntax;
}

/** @param format of the text file; `null` for a file of another format */
export function fieldNamesOf(format: TextFormat | null, rule: CompiledRule): FieldNames {
  const reader: TextReader | null = format === null ? null : READERS[format];
  return reader?.fieldNames?.(rule) ?? rule;
}

/** The encoding that a rule demands; `undefined` where a byte order mark decides, and UTF-8 is the default. */
export function encodingOf({ encoding }: CompiledRule): NamedEncoding | undefined {
  return encoding === 'utf-8' ? undefined : encoding;
}

/**
 * Decodes the text of a file, or of a field that holds one.
 *
 * @throws FormatError when it is not in the encoding that the rule demands
 */
export function decodedValue(value: string | Uint8Array, rule: CompiledRule): DecodedText {
  return typeof value === 'string' ? decodedString(value) : decodeText(value, encodingOf(rule));
}

/** Reads a text file. @throws FormatError when the file as a whole cannot be read */
export function readText(
  decoded: DecodedText,
  format: TextFormat,
  rule: CompiledRule,
  target: ReadTarget,
): void {
  READERS[format].read(decoded, format, rule, target);
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
  return READERS[format].patch(value, edits, {
    format,
    rule,
    options: { encoding: encodingOf(rule), limits },
  });
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

function withoutFile(edit: ValueEdit): FieldEdit {
  if (!isNested(edit)) return edit;
  throw new PatchError('place_not_found', edit.fieldPath, 'a line of a text holds no file');
}
