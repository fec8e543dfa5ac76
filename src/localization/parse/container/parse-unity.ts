import { isUtf8 } from 'node:buffer';
import { readableOr } from '../../../formats/format-error.ts';
import { readObjectName, type ObjectName } from '../../../formats/unity/read-object-name.ts';
import type { SerializedFile, SerializedObject } from '../../../formats/unity/serialized-file.ts';
import { CLASS_IDS } from '../../../formats/unity/type-tree.ts';
import {
  fieldNamesOf,
  objectLimits,
  readObjectBytes,
  textBytes,
  visitObject,
} from '../../../formats/unity/visit-object.ts';
import type { CompiledRule } from '../rules/compile-rules.ts';
import { collectorFor } from './collect-text.ts';
import { attemptPart, locationOf, type ContainerRun, type Part } from './container-run.ts';
import { emitTexts } from './emit-texts.ts';
import { playerTexts } from './known-fields.ts';
import { joinKeyPath, type PartLocation, repeatedName } from './parsed-container.ts';
import { DOTTED_SYNTAX } from '../../../formats/collect/path-syntax.ts';
import type { Collected } from '../../../formats/collect/text-collector.ts';
import { filesOf, isBundle, openUnityFile } from './unity-files.ts';

export const TEXT_CLASSES: ReadonlyMap<number, string> = new Map([
  [CLASS_IDS.textAsset, 'unity.textasset'],
  [CLASS_IDS.monoBehaviour, 'unity.monobehaviour'],
]);

/**
 * Parses a Unity bundle, or a serialized file outside of a bundle. The files of a bundle come in the order of their names;
 * they are entries only where a bundle has several. A file of several that cannot be opened costs only itself.
 *
 * @throws FormatError when the bundle, or its only file, cannot be opened
 */
export async function parseUnity(run: ContainerRun, part: Part, rule: CompiledRule): Promise<void> {
  if (!isBundle(part)) {
    await parseObjects(run, part, rule, openUnityFile(run, rule, part));
    return;
  }
  const { files } = filesOf(run, part, run);
  for (const inner of files) {
    const open = (): SerializedFile => openUnityFile(run, rule, inner);
    const file = files.length === 1 ? open() : attemptPart(run, locationOf(inner, 'unity'), open);
    if (inner.isAmbiguous) run.report(locationOf(inner, 'unity'), repeatedName(inner.entry ?? ''));
    if (file !== null) await parseObjects(run, inner, rule, file);
  }
}

async function parseObjects(
  run: ContainerRun,
  part: Part,
  rule: CompiledRule,
  file: SerializedFile,
): Promise<void> {
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
    const keyPrefix = joinKeyPath([part.entryKey, keyOf(object), '']);
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
  const collector = collectorFor(rule, DOTTED_SYNTAX);
  const found = attemptPart(run, location, () => {
    const unread = visitObject(file, object, collector, objectLimits(object, run.limits));
    if (unread !== null) run.report(location, unread);
    return collector.finish();
  });
  if (found === null) return null;
  const texts = playerTexts(found, fieldNamesOf(file, object), rule);
  run.skip('not_for_players', found.texts.length - texts.length);
  const isSuspect = texts.some(({ value }) => typeof value === 'string' && value.includes('\uFFFD'));
  if (!isSuspect) return { ...found, texts };
  const bytes = readObjectBytes(file, object);
  return { ...found, texts: texts.map((text) => withRawBytes(file, bytes, text)) };
}

/** A string that is not valid UTF-8 is bytes: a file in another encoding, or no text at all. @param object its bytes */
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
 * order of their path ids. A name that could be read as a numbered one is quoted.
 */
function objectKeys(
  file: SerializedFile,
  objects: readonly SerializedObject[],
): (object: SerializedObject) => string {
  const keys = new Map<SerializedObject, string>();
  const seen = new Map<string, number>();
  for (const object of objects) {
    const { name, script } = nameOf(file, object);
    const key = `${quoted(script?.className ?? script?.hash ?? String(object.type.classId))}:${quoted(name ?? '')}`;
    const count = (seen.get(key) ?? 0) + 1;
    seen.set(key, count);
    keys.set(object, count === 1 ? key : `${key}#${count}`);
  }
  return (object) => keys.get(object) ?? '';
}

function quoted(name: string): string {
  return /[#"\0]/.test(name) ? JSON.stringify(name) : name;
}

/** The name of an object; one that cannot be read is reported when the whole object is read. */
function nameOf(file: SerializedFile, object: SerializedObject): ObjectName {
  return readableOr({ name: null, script: null }, () => readObjectName(file, object));
}
