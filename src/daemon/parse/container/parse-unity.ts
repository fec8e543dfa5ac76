import { isUtf8 } from 'node:buffer';
import { compareDestinations } from '../../../domain/release/destination.ts';
import { stableNames } from '../../../domain/text/stable-name.ts';
import { FormatError } from '../../formats/format-error.ts';
import { openBundle } from '../../formats/unity/bundle.ts';
import { isUnityBundle } from '../../formats/unity/bundle-header.ts';
import { readObjectName, type ObjectName } from '../../formats/unity/read-object-name.ts';
import {
  openSerializedFile,
  type SerializedFile,
  type SerializedObject,
} from '../../formats/unity/serialized-file.ts';
import { isSerializedFile } from '../../formats/unity/serialized-header.ts';
import { CLASS_IDS } from '../../formats/unity/serialized-types.ts';
import { readTypeTreeFile, type TypeTreeOf } from '../../formats/unity/type-tree-file.ts';
import { readObjectBytes, textBytes, visitObject } from '../../formats/unity/visit-object.ts';
import type { CompiledRule } from '../rules/compile-rules.ts';
import { createCollector } from './collect-text.ts';
import { nestedName, type ContainerRun, type Part } from './container-run.ts';
import { emitTexts } from './emit-texts.ts';
import type { PartLocation } from './parsed-container.ts';
import { DOTTED_SYNTAX } from './path-syntax.ts';
import type { Collected } from './text-collector.ts';

/** The classes that hold text, and the name of their format. */
const TEXT_CLASSES: ReadonlyMap<number, string> = new Map([
  [CLASS_IDS.textAsset, 'unity.textasset'],
  [CLASS_IDS.monoBehaviour, 'unity.monobehaviour'],
]);
const SIGNATURE_BYTES = 16;

/**
 * Parses a Unity bundle, or a serialized file outside of a bundle. The files of a bundle come in the order of their names;
 * they are entries only where a bundle has several.
 *
 * @throws FormatError when the bundle or a file of it cannot be opened
 */
export async function parseUnity(run: ContainerRun, part: Part, rule: CompiledRule): Promise<void> {
  const typeTreeOf = configuredTypeTrees(run, rule);
  const head = part.source.read(0, Math.min(SIGNATURE_BYTES, part.source.size));
  if (!isUnityBundle(head)) {
    await parseSerializedFile(run, part, rule, typeTreeOf);
    return;
  }
  const bundle = openBundle(part.source, run.limits);
  const files = bundle.nodes
    .map((node) => ({ name: node.name, source: bundle.open(node) }))
    .filter(({ source }) => isSerializedFile(source))
    .toSorted((left, right) => compareDestinations(left.name, right.name));
  run.skip('binary', bundle.nodes.length - files.length);
  const stable = stableNames(new Set(files.map(({ name }) => name)));
  for (const { name, source } of files) {
    const inner = files.length === 1 ? {} : nestedName(part, name, stable.keyOf(name));
    await parseSerializedFile(run, { ...part, ...inner, source }, rule, typeTreeOf);
  }
}

async function parseSerializedFile(
  run: ContainerRun,
  part: Part,
  rule: CompiledRule,
  typeTreeOf: TypeTreeOf,
): Promise<void> {
  const file = openSerializedFile(part.source, { limits: run.limits, typeTreeOf });
  const objects = file.objects
    .filter(({ type }) => TEXT_CLASSES.has(type.classId))
    .toSorted((left, right) => (left.pathId < right.pathId ? -1 : 1));
  const keyOf = objectKeys(file, objects);
  for (const object of objects) {
    const { classId } = object.type;
    const format = TEXT_CLASSES.get(classId) ?? 'unity';
    const location = { archiveEntry: part.entry, pathId: object.pathId, classId, format };
    const collected = collectObject(run, { file, object, rule, location });
    if (collected === null) continue;
    const keyPrefix = `${part.entryKey}\0${keyOf(object)}\0`;
    await emitTexts({ run, part, rule, location, keyPrefix, fieldPrefix: '' }, collected);
  }
}

/** The strings of an object; `null`, with a report, when the object cannot be read. */
function collectObject(
  run: ContainerRun,
  {
    file,
    object,
    rule,
    location,
  }: {
    readonly file: SerializedFile;
    readonly object: SerializedObject;
    readonly rule: CompiledRule;
    readonly location: PartLocation;
  },
): Collected | null {
  const collector = createCollector(rule, DOTTED_SYNTAX);
  // A text asset is often a whole file; its limit is that of an entry.
  const isFile = object.type.classId === CLASS_IDS.textAsset;
  const stringBytes = isFile ? run.limits.entryBytes : run.limits.stringBytes;
  try {
    visitObject(file, object, collector, { ...run.limits, stringBytes });
  } catch (error) {
    if (!(error instanceof FormatError)) throw error;
    run.report(location, error);
    return null;
  }
  const { texts, dropped } = collector.finish();
  const isSuspect = texts.some(({ value }) => typeof value === 'string' && value.includes('\uFFFD'));
  if (!isSuspect) return { dropped, texts };
  const bytes = readObjectBytes(file, object);
  return { dropped, texts: texts.map((text) => withRawBytes(file, bytes, text)) };
}

/**
 * A string that is not valid UTF-8 is bytes: a file in another encoding, or no text at all.
 *
 * @param object its bytes
 */
function withRawBytes<T extends { readonly value: string | Uint8Array; readonly start: number }>(
  file: SerializedFile,
  object: Buffer,
  text: T,
): T {
  if (typeof text.value !== 'string' || !text.value.includes('\uFFFD')) return text;
  const bytes = textBytes(file, object, text.start);
  return isUtf8(bytes) ? text : { ...text, value: bytes };
}

/**
 * Names objects by class and name, which stay the same when path ids change. Objects that share both are numbered in the
 * order of their path ids.
 */
function objectKeys(
  file: SerializedFile,
  objects: readonly SerializedObject[],
): (object: SerializedObject) => string {
  const keys = new Map<SerializedObject, string>();
  const seen = new Map<string, number>();
  for (const object of objects) {
    const { name, script } = nameOf(file, object);
    const key = `${script?.className ?? script?.hash ?? object.type.classId}:${name ?? ''}`;
    const count = (seen.get(key) ?? 0) + 1;
    seen.set(key, count);
    keys.set(object, count === 1 ? key : `${key}#${count}`);
  }
  return (object) => keys.get(object) ?? '';
}

/** The name of an object; one that cannot be read is reported when the whole object is read. */
function nameOf(file: SerializedFile, object: SerializedObject): ObjectName {
  try {
    return readObjectName(file, object);
  } catch (error) {
    if (!(error instanceof FormatError)) throw error;
    return { name: null, script: null };
  }
}

const TYPE_TREES = new WeakMap<Uint8Array, TypeTreeOf>();

function configuredTypeTrees({ limits }: ContainerRun, { typeTrees }: CompiledRule): TypeTreeOf {
  if (typeTrees === null) return () => null;
  let found = TYPE_TREES.get(typeTrees);
  if (found === undefined) {
    found = readTypeTreeFile(Buffer.from(typeTrees).toString(), limits.depth);
    TYPE_TREES.set(typeTrees, found);
  }
  return found;
}
