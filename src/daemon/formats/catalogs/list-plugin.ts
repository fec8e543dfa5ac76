import { readCsv } from '../csv/read-csv.ts';
import { readJson } from '../json/read-json.ts';
import { PatchError } from '../patch/patch-error.ts';
import type { DecodedText, NamedEncoding } from '../text/decode-text.ts';
import { spliceText, type TextSplice } from '../text/splice-text.ts';
import { READ_LIMITS, type ValueVisitor } from '../value-visitor.ts';
import { newNumber, newSize, newText, type CatalogPlugin, type FileChange } from './catalog-plugin.ts';

/** A rule for lists of files in JSON or in tables: objects or rows with a path, a size and checksums. */
export interface ListRule {
  /** Kebab-case, for reports. */
  readonly name: string;
  /** Whether a destination is such a list. */
  readonly matches: (path: string) => boolean;
  readonly format: 'json' | 'csv' | 'tsv';
  readonly encoding?: NamedEncoding;
  /** The folder of the listed files, with a slash at its end; by default that of the list. */
  readonly folder?: string;
  /** The members or columns of a record. Those of them that a record lacks are left out. */
  readonly fields: {
    readonly path: string;
    readonly size: readonly string[];
    readonly checksums: readonly string[];
  };
}

/** A value of a record, and where it is. */
interface ListValue {
  readonly value: string | number | bigint;
  readonly start: number;
  readonly end: number;
}

/** Creates the plug-in of a rule. Only the values change; their quotes and everything else stay. */
export function createListPlugin(rule: ListRule): CatalogPlugin {
  return {
    name: rule.name,
    recognizes: rule.matches,
    rewrite: async (path, bytes, changes) => {
      const folder = rule.folder ?? path.slice(0, path.lastIndexOf('/') + 1);
      const byPath = new Map(changes.map((change) => [change.path, change]));
      const rewritten = new Set<string>();
      const patched = spliceText(bytes, rule.encoding, (decoded) => {
        const splices: TextSplice[] = [];
        readRecords(decoded, rule, (record) => {
          const change = byPath.get(
            folder + String(record.get(rule.fields.path)?.value).replaceAll('\\', '/'),
          );
          if (change === undefined) return;
          splices.push(...splicesOf(decoded, rule, record, change));
          rewritten.add(change.path);
        });
        return splices.toSorted((left, right) => left.start - right.start);
      });
      return await Promise.resolve({ bytes: patched, rewritten });
    },
  };
}

/** Reads every object of a list, the inner ones first. */
function readRecords(
  decoded: DecodedText,
  { format }: ListRule,
  onRecord: (record: ReadonlyMap<string, ListValue>) => void,
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
    other: forget,
  };
  const target = { visitor, limits: READ_LIMITS, reportPartError: () => undefined };
  if (format === 'json') readJson(decoded, target);
  else readCsv(decoded, { delimiter: format === 'csv' ? ',' : '\t', header: true }, target);
}

function splicesOf(
  { text }: DecodedText,
  { fields }: ListRule,
  record: ReadonlyMap<string, ListValue>,
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
  throw new PatchError(
    'catalog_not_rewritten',
    path,
    `the catalog states ${JSON.stringify(stated)} as a number`,
  );
}
