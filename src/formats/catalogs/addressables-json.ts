import { isUtf8 } from 'node:buffer';
import { type Node, type ParseError, parseTree } from 'jsonc-parser';
import { notRewritten, type PatchError } from '../patch/patch-error.ts';
import {
  addressPath,
  type BundleChange,
  changedFigures,
  type ChangesOf,
  chooseChange,
  fileNameOf,
  type Meant,
  type PatchedCatalog,
} from './bundle-change.ts';

interface JsonObjectSpan {
  readonly start: number;
  readonly end: number;
  readonly json: string;
}

const JSON_OBJECT = 7;
const OPTIONS_CLASS = 'AssetBundleRequestOptions';
const LENGTH_BYTES = 4;

/**
 * Finds the JSON of the options of a bundle: a mark, the names of assembly and class with a length of one byte each, and the
 * JSON as UTF-16 with a length of 32 bits.
 *
 * @returns `null` when it is another object
 * @throws PatchError `catalog_not_rewritten` when it is cut
 */
function jsonObjectSpan(objects: Buffer, at: number): JsonObjectSpan | null {
  if (objects[at] !== JSON_OBJECT) return null;
  const assembly = at + 1;
  const className = assembly + 1 + (objects[assembly] ?? 0);
  const start = className + 1 + (objects[className] ?? 0);
  const name = objects.toString('latin1', className + 1, start);
  if (name !== OPTIONS_CLASS && !name.endsWith(`.${OPTIONS_CLASS}`)) return null;
  const length = start + LENGTH_BYTES <= objects.length ? objects.readInt32LE(start) : -1;
  const end = start + LENGTH_BYTES + length;
  if (length < 0 || length % 2 !== 0 || end > objects.length) {
    throw notRewritten(`the object at ${at} of the catalog of Addressables is cut`);
  }
  return { start, end, json: objects.toString('utf16le', start + LENGTH_BYTES, end) };
}

interface CatalogFields {
  readonly internalIds: readonly string[];
  readonly prefixes: readonly string[];
  /** A table of entries, and the objects that they refer to; both base64 in the catalog. */
  readonly entries: Node;
  readonly objects: Node;
}

/** 7 integers of 32 bits: the internal id, ..., the position of the object, ... */
const ENTRY_BYTES = 28;
const OBJECT_FIELD = 16;
const COUNT_BYTES = 4;

export function isAddressablesJson(text: string | Buffer): boolean {
  return text.includes('"m_EntryDataString"') && text.includes('"m_ExtraDataString"');
}

/**
 * Writes the figures of patched bundles into a `catalog.json` of Addressables. Only two values of the catalog change: the
 * objects with the options of bundles, whose JSON can become longer or shorter, and the positions of objects in the table of
 * entries.
 *
 * Source: `JsonContentCatalogData` of com.unity.addressables.
 *
 * @param bytes UTF-8
 * @throws PatchError `catalog_not_rewritten` when the catalog contradicts itself, and as {@link changedFigures}
 */
export function patchAddressablesJson(bytes: Uint8Array, changesOf: ChangesOf): PatchedCatalog {
  if (!isUtf8(bytes)) throw invalid('it is not UTF-8');
  const text = Buffer.from(bytes).toString('utf8');
  const fields = readFields(text);
  const entries = Buffer.from(String(fields.entries.value), 'base64');
  const objects = Buffer.from(String(fields.objects.value), 'base64');
  const listed = new Set<string>();
  const unread = new Set<string>();
  const replaced = new Map<number, ReplacedObject>();
  for (const { internalId, object } of entriesOf(entries, fields)) {
    const candidates = changesOf(internalId);
    if (candidates === null || object < 0 || replaced.has(object)) continue;
    const span = jsonObjectSpan(objects, object);
    if (span === null) {
      unread.add(fileNameOf(addressPath(internalId)));
      continue;
    }
    const { json, change } = changedOptions(span.json, candidates);
    if (change === undefined || change.after === null) continue;
    replaced.set(object, { span, json });
    listed.add(change.path);
  }
  if (listed.size === 0) return { bytes, listed, unread };
  const moved = replaceObjects(objects, replaced);
  moveEntries(entries, moved.positionOf);
  const values = [
    { node: fields.entries, value: entries.toString('base64') },
    { node: fields.objects, value: moved.bytes.toString('base64') },
  ].toSorted((left, right) => left.node.offset - right.node.offset);
  let result = '';
  let at = 0;
  for (const { node, value } of values) {
    result += `${text.slice(at, node.offset)}"${value}"`;
    at = node.offset + node.length;
  }
  return { bytes: Buffer.from(result + text.slice(at)), listed, unread };
}

function readFields(text: string): CatalogFields {
  const root = parse(text);
  const field = (name: string): Node | undefined =>
    root.children?.find((member) => member.children?.[0]?.value === name)?.children?.[1];
  const strings = (name: string): string[] => (field(name)?.children ?? []).map(({ value }) => String(value));
  const [entries, objects] = [field('m_EntryDataString'), field('m_ExtraDataString')];
  if (entries?.type !== 'string' || objects?.type !== 'string') throw invalid('it lacks a table');
  return {
    internalIds: strings('m_InternalIds'),
    prefixes: strings('m_InternalIdPrefixes'),
    entries,
    objects,
  };
}

function parse(text: string): Node {
  const errors: ParseError[] = [];
  const root = parseTree(text, errors);
  if (root === undefined || errors.length > 0) throw invalid('it is not JSON');
  return root;
}

/** The entries, with the path or address and the position of the object; -1: none. */
function* entriesOf(
  table: Buffer,
  { internalIds, prefixes }: CatalogFields,
): Generator<{ readonly internalId: string; readonly object: number }> {
  for (const at of entryOffsets(table)) {
    const id = internalIds[table.readInt32LE(at)];
    if (id === undefined) throw invalid('an entry has no id');
    yield { internalId: withPrefix(id, prefixes), object: table.readInt32LE(at + OBJECT_FIELD) };
  }
}

function* entryOffsets(table: Buffer): Generator<number> {
  const count = table.length < COUNT_BYTES ? -1 : table.readInt32LE(0);
  if (count < 0 || count * ENTRY_BYTES > table.length - COUNT_BYTES) throw invalid('its entries are cut');
  for (let index = 0; index < count; index += 1) yield COUNT_BYTES + index * ENTRY_BYTES;
}

/** An id can begin with the number of a prefix and `#`. */
function withPrefix(id: string, prefixes: readonly string[]): string {
  const hash = id.lastIndexOf('#');
  const number = id.slice(0, Math.max(0, hash));
  const prefix = /^\d+$/.test(number) ? prefixes[Number(number)] : undefined;
  return prefix === undefined ? id : prefix + id.slice(hash + 1);
}

/** The options of a bundle with new figures, and the change that they are for. Their other bytes stay as they are. */
function changedOptions(
  json: string,
  candidates: Meant<BundleChange>,
): { readonly json: string; readonly change: BundleChange | undefined } {
  const members = parse(json).children ?? [];
  const find = (name: string): Node | undefined =>
    members.find((member) => member.children?.[0]?.value === name)?.children?.[1];
  const nodes = { hash: find('m_Hash'), crc: find('m_Crc'), size: find('m_BundleSize') };
  const old = {
    hash: String(nodes.hash?.value ?? ''),
    crc: Number(nodes.crc?.value ?? 0),
    size: Number(nodes.size?.value ?? 0),
  };
  const change = chooseChange(old, candidates);
  if (change === undefined) return { json, change };
  const figures = changedFigures(old, change);
  const values = [
    { node: nodes.hash, value: JSON.stringify(figures.hash) },
    { node: nodes.crc, value: String(figures.crc) },
    { node: nodes.size, value: String(figures.size) },
  ];
  let result = json;
  for (const { node, value } of values.toSorted((a, b) => (b.node?.offset ?? 0) - (a.node?.offset ?? 0))) {
    if (node === undefined) continue;
    result = result.slice(0, node.offset) + value + result.slice(node.offset + node.length);
  }
  return { json: result, change };
}

interface ReplacedObject {
  readonly span: JsonObjectSpan;
  readonly json: string;
}

/** Replaces the JSON of objects. Every object behind a longer or shorter one moves. */
function replaceObjects(
  objects: Buffer,
  replaced: ReadonlyMap<number, ReplacedObject>,
): { readonly bytes: Buffer; readonly positionOf: (position: number) => number } {
  const ordered = [...replaced.values()].toSorted((left, right) => left.span.start - right.span.start);
  const parts: Buffer[] = [];
  const shifts: { readonly from: number; readonly shift: number }[] = [];
  let at = 0;
  let shift = 0;
  for (const { span, json } of ordered) {
    if (span.start < at) throw invalid('its objects overlap');
    const length = Buffer.alloc(4);
    const encoded = Buffer.from(json, 'utf16le');
    length.writeInt32LE(encoded.length);
    parts.push(objects.subarray(at, span.start), length, encoded);
    at = span.end;
    shift += length.length + encoded.length - (span.end - span.start);
    shifts.push({ from: span.end, shift });
  }
  parts.push(objects.subarray(at));
  return {
    bytes: Buffer.concat(parts),
    positionOf: (position) => position + (shifts.findLast(({ from }) => from <= position)?.shift ?? 0),
  };
}

function moveEntries(table: Buffer, positionOf: (position: number) => number): void {
  for (const at of entryOffsets(table)) {
    const object = table.readInt32LE(at + OBJECT_FIELD);
    if (object >= 0) table.writeInt32LE(positionOf(object), at + OBJECT_FIELD);
  }
}

function invalid(why: string): PatchError {
  return notRewritten(`the catalog of Addressables cannot be read: ${why}`);
}
