import { readCsv } from '../csv/read-csv.ts';
import { readJson } from '../json/read-json.ts';
import { notRewritten } from '../patch/patch-error.ts';
import type { DecodedText, NamedEncoding } from '../text/decode-text.ts';
import { spliceText, type TextSplice } from '../text/splice-text.ts';
import { READ_LIMITS, type ValueVisitor } from '../value-visitor.ts';
import { newNumber, newSize, newText, type CatalogPlugin, type FileChange } from './catalog-plugin.ts';

/** A rule for lists of files in JSON or in tables: objects or rows with a path, a size and checksums. */
export interface ListRule {
  readonly name: string;
  readonly matches: (path: string) => boolean;
  readonly format: 'json' | 'csv' | 'tsv';
  readonly encoding?: NamedEncoding;
  /** The folder of the listed files, with a slash at its end, by that of the list; left out where it is that of the list. */
  readonly folderOf?: (folder: string) => string;
  readonly fields: RecordFields;
  /** The same of records within a record, which list the files in an archive. */
  readonly inner?: RecordFields;
}

/** The members or columns of a record. Those of them that a record lacks are left out. */
export interface RecordFields {
  readonly path: string;
  readonly size: readonly string[];
  readonly checksums: readonly string[];
}

interface ListValue {
  readonly value: string | number | bigint;
  readonly start: number;
  readonly end: number;
}

type ListRecord = ReadonlyMap<string, ListValue>;

/** Creates the plug-in of a rule. Only the values change; their quotes and everything else stay. */
export function listPlugin(rule: ListRule): CatalogPlugin {
  return {
    name: rule.name,
    recognizes: rule.matches,
    rewrite: async (path, bytes, changes) => {
      const own = path.slice(0, path.lastIndexOf('/') + 1);
      const folder = rule.folderOf === undefined ? own : rule.folderOf(own);
      const byPath = new Map(changes.map((change) => [change.path, change]));
      const rewritten = new Set<string>();
      const patched = spliceText(bytes, rule.encoding, (decoded) => {
        const splices: TextSplice[] = [];
        const apply = (listed: string, fields: RecordFields, record: ListRecord): void => {
          const change = byPath.get(listed);
          if (change === undefined) return;
          splices.push(...splicesOf(decoded, fields, record, change));
          rewritten.add(change.path);
        };
        let within: ListRecord[] = [];
        readRecords(decoded, rule, (record) => {
          const name = nameOf(record, rule.fields);
          if (name === null) {
            if (rule.inner !== undefined) within.push(record);
            return;
          }
          apply(folder + name, rule.fields, record);
          for (const each of within) {
            if (rule.inner === undefined) break;
            apply(`${folder}${name}!/${nameOf(each, rule.inner) ?? ''}`, rule.inner, each);
          }
          within = [];
        });
        return splices.toSorted((left, right) => left.start - right.start);
      });
      return await Promise.resolve({ bytes: patched, rewritten });
    },
  };
}

function nameOf(record: ListRecord, { path }: RecordFields): string | null {
  const name = record.get(path)?.value;
  return name === undefined ? null : String(name).replaceAll('\\', '/');
}

/** Reads every object of a list, the inner ones first. */
function readRecords(
  decoded: DecodedText,
  { format }: ListRule,
  onRecord: (record: ListRecord) => void,
): void {
  const open: Map<string, ListValue>[] = [];
  let field: string | null = null;
  const add = (value: ListValue['value'], start = 0, end = 0): void => {
    if (field !== null) open.at(-1)?.set(field, { value, start, end });
    field = null;
  };
  const forget = (): void => {
    field = null;
  };
  const visitor: ValueVisitor = {
    beginObject: () => {
      open.push(new Map());
      forget();
    },
    endObject: () => {
      const record = open.pop();
      if (record !== undefined) onRecord(record);
    },
    beginArray: forget,
    endArray: forget,
    field: (name) => {
      field = name;
    },
    element: forget,
    text: add,
    bytes: forget,
    integer: add,
    label: forget,
    other: forget,
  };
  const target = { visitor, limits: READ_LIMITS, reportPartError: () => undefined };
  if (format === 'json') readJson(decoded, target);
  else readCsv(decoded, { delimiter: format === 'csv' ? ',' : '\t', header: true }, target);
}

function splicesOf(
  { text }: DecodedText,
  fields: RecordFields,
  record: ListRecord,
  change: FileChange,
): TextSplice[] {
  const splice = (name: string, valueOf: (stated: ListValue['value']) => string): TextSplice[] => {
    const found = record.get(name);
    if (found === undefined || found.value === '') return [];
    const quote = text.charAt(found.start) === '"' ? '"' : '';
    const characters = `${quote}${valueOf(found.value)}${quote}`;
    return [{ start: found.start, end: found.end, characters, fieldPath: change.path }];
  };
  return [
    ...fields.size.flatMap((name) =>
      splice(name, (stated) => String(newSize(change, numberOf(change, stated)))),
    ),
    ...fields.checksums.flatMap((name) =>
      splice(name, (stated) =>
        typeof stated === 'string'
          ? newText(change, stated)
          : String(newNumber(change, numberOf(change, stated))),
      ),
    ),
  ];
}

function numberOf({ path }: FileChange, stated: ListValue['value']): bigint {
  if (typeof stated !== 'string') return BigInt(stated);
  if (/^\d{1,20}$/.test(stated)) return BigInt(stated);
  throw notRewritten(`the catalog states ${JSON.stringify(stated)} as a number`, path);
}
