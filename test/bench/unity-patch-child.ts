/**
 * Patches every text of a bundle of string tables, and prints the figures of it as JSON.
 *
 *   node test/bench/unity-patch-child.ts BUNDLE OUTPUT
 */
import { closeSync, openSync, readFileSync, writeSync } from 'node:fs';
import process from 'node:process';
import { fileSource } from '../../src/daemon/formats/byte-source.ts';
import type { SplicedSource } from '../../src/daemon/formats/patch/spliced-source.ts';
import type { FieldEdit } from '../../src/daemon/formats/patch/value-edit.ts';
import { patchBundle, sizeUnitOf } from '../../src/daemon/formats/unity/bundle-patch.ts';
import { type Bundle, type BundleNode, openBundle } from '../../src/daemon/formats/unity/bundle.ts';
import { objectSplices } from '../../src/daemon/formats/unity/object-splices.ts';
import { openSerializedFile, type SerializedFile } from '../../src/daemon/formats/unity/serialized-file.ts';
import { spliceSerializedFile } from '../../src/daemon/formats/unity/splice-serialized-file.ts';
import { visitObject } from '../../src/daemon/formats/unity/visit-object.ts';
import { READ_LIMITS } from '../../src/daemon/formats/value-visitor.ts';

/** The end of each changed text. The peer appends the same. */
const TRANSLATED = ' translated';

const [input = '', output = ''] = process.argv.slice(2);
const source = openSync(input, 'r');
const target = openSync(output, 'w');
try {
  const edits = editsOf(openBundle(fileSource(source), READ_LIMITS));
  // A process at rest, with the edits.
  globalThis.gc?.();
  const residentBefore = peakBytes('VmRSS');
  const before = process.cpuUsage();
  patch(edits);
  const { user, system } = process.cpuUsage(before);
  const extraBytes = peakBytes('VmHWM') - residentBefore;
  console.log(JSON.stringify({ seconds: (user + system) / 1e6, extraBytes }));
} finally {
  closeSync(source);
  closeSync(target);
}

function patch(edits: ReadonlyMap<bigint, readonly FieldEdit[]>): void {
  const bytes = fileSource(source);
  const bundle = openBundle(bytes, READ_LIMITS);
  const changes = new Map<BundleNode, SplicedSource>();
  for (const [node, file] of filesOf(bundle)) {
    const splices = file.objects.map((object) => {
      const own = objectSplices(file, object, edits.get(object.pathId) ?? [], READ_LIMITS);
      return [object, own] as const;
    });
    changes.set(node, spliceSerializedFile(file, new Map(splices), sizeUnitOf(bundle, node)));
  }
  for (const chunk of patchBundle(bytes, bundle, changes).chunks()) writeSync(target, chunk);
}

function filesOf(bundle: Bundle): (readonly [BundleNode, SerializedFile])[] {
  return bundle.nodes.map((node) => [node, openSerializedFile(bundle.open(node), { limits: READ_LIMITS })]);
}

/** The edits that a translation of every row gives. */
function editsOf(bundle: Bundle): ReadonlyMap<bigint, readonly FieldEdit[]> {
  const edits = new Map<bigint, FieldEdit[]>();
  const ignore = (): void => undefined;
  for (const [, file] of filesOf(bundle)) {
    for (const object of file.objects) {
      const own: FieldEdit[] = [];
      edits.set(object.pathId, own);
      let field = '';
      const text = (value: string): void => {
        if (field !== 'm_Localized') return;
        const fieldPath = `m_TableData[${own.length}].m_Localized`;
        own.push({ fieldPath, source: value, target: value + TRANSLATED });
      };
      const visitor = {
        beginObject: ignore,
        endObject: ignore,
        beginArray: ignore,
        endArray: ignore,
        field: (name: string): void => void (field = name),
        element: ignore,
        text,
        bytes: ignore,
        integer: ignore,
        other: ignore,
      };
      visitObject(file, object, visitor, READ_LIMITS);
    }
  }
  return edits;
}

function peakBytes(field: 'VmRSS' | 'VmHWM'): number {
  const status = readFileSync('/proc/self/status', 'utf8');
  return Number(new RegExp(`${field}:\\s+(\\d+) kB`).exec(status)?.[1]) * 1024;
}
