import { execFile } from 'node:child_process';
import { writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { describe, expect, it } from 'vitest';
import { writeBundle } from '../../src/cli/dev/demo/unity/write-bundle.ts';
import { writeSerializedFile } from '../../src/cli/dev/demo/unity/write-serialized-file.ts';
import { createRandom, type Random } from '../../src/cli/dev/seeded-random.ts';
import type { FieldEdit } from '../../src/daemon/formats/patch/value-edit.ts';
import { patchUnityBundle } from '../support/patch-unity.ts';
import { pythonProgram } from '../support/python-tools.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';
import {
  DIALOG_FIELDS,
  DIALOG_VALUE,
  LARGE_PATH_ID,
  sampleBehaviour,
  sampleObjects,
} from '../support/unity-samples.ts';
import { textsOfBundle } from '../support/unity-texts.ts';

const SCRIPT = resolve(import.meta.dirname, '../support/read-unity-bundles.py');
const program = pythonProgram('unity-tools', null);
const TARGETS = ['', 'kurz', 'Ein „längerer“ Satz,\r\n"mit" Zeilen', 'مرحبا 👋🏽', 'x'.repeat(5000)];

/** UnityPy does not know leaves by their size alone. */
const objects = sampleObjects().map((each) =>
  each.pathId === LARGE_PATH_ID
    ? sampleBehaviour(
        LARGE_PATH_ID,
        'Dialog',
        DIALOG_FIELDS.filter(({ name }) => name !== 'color'),
        DIALOG_VALUE,
      )
    : each,
);

/** Versions 17 to 22 in both byte orders, with the alignments of Unity up to 2023.1 and from 6000 on. */
function bundles(): Buffer[] {
  const compressions = ['none', 'lz4', 'lz4hc', 'lzma'] as const;
  const layouts = [17, 18, 19, 20, 21, 22].flatMap((version) => [
    { version, littleEndian: true, engineVersion: '2022.3.10f1', objectAlignment: 8 },
    { version, littleEndian: version < 20, engineVersion: '6000.0.23f1', objectAlignment: 16 },
  ]);
  return layouts.map((layout, index) =>
    writeBundle(
      [
        { name: 'CAB-first', bytes: writeSerializedFile({ ...layout, objects }) },
        { name: 'CAB-first.resS', bytes: createRandom(index).bytes(50_000), flags: 0 },
      ],
      {
        version: 6 + (index % 3),
        engineVersion: layout.engineVersion,
        compression: compressions[index % compressions.length] ?? 'none',
        infoAtEnd: index % 5 === 0,
        paddedStart: index % 3 === 2,
        blockBytes: 1024,
      },
    ),
  );
}

interface PeerBundle {
  readonly files: Readonly<Record<string, string>>;
  readonly objects: Readonly<Record<string, unknown>>;
}

/** Random edits of the texts that are in the file once, so that they can be named without their path. */
function randomEdits(bytes: Buffer, random: Random): Map<bigint, FieldEdit[]> {
  const edits = new Map<bigint, FieldEdit[]>();
  const { texts } = textsOfBundle(bytes);
  for (const { pathId, path, text } of texts) {
    const isUnique = texts.filter((each) => each.pathId === pathId && each.text === text).length === 1;
    if (!isUnique || random.below(2) > 0) continue;
    const edit = { fieldPath: path, source: text, target: random.pick(TARGETS) };
    edits.set(pathId, [...(edits.get(pathId) ?? []), edit]);
  }
  return edits;
}

/** The fields of an object with some texts replaced. */
function replaced(value: unknown, targets: ReadonlyMap<string, string>): unknown {
  if (typeof value === 'string') return targets.get(value) ?? value;
  if (Array.isArray(value)) return value.map((each) => replaced(each, targets));
  if (value === null || typeof value !== 'object') return value;
  return Object.fromEntries(Object.entries(value).map(([key, each]) => [key, replaced(each, targets)]));
}

describe.skipIf(program === null)('patched bundles', () => {
  it('have for UnityPy the translated texts, and nothing else is changed', async () => {
    const random = createRandom(16);
    const directory = await temporaryDirectory();
    const cases = bundles().map((before) => {
      const edits = randomEdits(before, random);
      return { before, edits, after: patchUnityBundle(before, edits).bytes };
    });
    const paths = await Promise.all(
      cases
        .flatMap(({ before, after }) => [before, after])
        .map(async (bytes, index) => {
          const path = join(directory, `${index}.bundle`);
          await writeFile(path, bytes);
          return path;
        }),
    );
    const { stdout } = await promisify(execFile)(program ?? '', [SCRIPT, 'values', ...paths], {
      maxBuffer: 64 * 1024 * 1024,
    });
    const peer = stdout
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as PeerBundle);
    expect(peer.length).toBe(paths.length);
    let edited = 0;
    for (const [index, { edits }] of cases.entries()) {
      const [old, now] = [peer[2 * index], peer[2 * index + 1]];
      expect(now?.files).toEqual(old?.files);
      const expected = Object.fromEntries(
        Object.entries(old?.objects ?? {}).map(([pathId, fields]) => {
          const own = edits.get(BigInt(pathId)) ?? [];
          edited += own.length;
          return [pathId, replaced(fields, new Map(own.map(({ source, target }) => [source, target])))];
        }),
      );
      expect(now?.objects).toEqual(expected);
      // The table has an empty registry of managed references.
      expect(now?.objects['4']).toMatchObject({ references: { version: '2', RefIds: [] } });
    }
    expect(edited).toBeGreaterThan(cases.length * 3);
  });
});
