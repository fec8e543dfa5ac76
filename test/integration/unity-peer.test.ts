import { execFile } from 'node:child_process';
import { writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { describe, expect, it } from 'vitest';
import { writeBundle } from '../../src/cli/dev/demo/unity/write-bundle.ts';
import { writeSerializedFile } from '../../src/cli/dev/demo/unity/write-serialized-file.ts';
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

interface PeerObject {
  readonly name: string;
  readonly class_id: number;
  readonly texts: readonly string[];
}

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

function bundles(): Buffer[] {
  const compressions = ['none', 'lz4', 'lz4hc', 'lzma'] as const;
  const files = [17, 18, 19, 20, 21, 22].flatMap((version) =>
    [true, false].map((littleEndian) => writeSerializedFile({ version, littleEndian, objects })),
  );
  return files.map((bytes, index) =>
    writeBundle(
      [
        { name: 'CAB-first', bytes },
        { name: 'CAB-first.resS', bytes: Buffer.alloc(100, 1), flags: 0 },
      ],
      {
        version: 6 + (index % 3),
        compression: compressions[index % compressions.length] ?? 'none',
        infoAtEnd: index % 5 === 0,
        paddedStart: index % 3 === 2,
        blockBytes: 1024,
      },
    ),
  );
}

describe.skipIf(program === null)('bundles that the demo writer makes', () => {
  it('hold the same texts for UnityPy as for Slipway', async () => {
    const directory = await temporaryDirectory();
    const all = bundles();
    const paths = await Promise.all(
      all.map(async (bytes, index) => {
        const path = join(directory, `${index}.bundle`);
        await writeFile(path, bytes);
        return path;
      }),
    );
    const { stdout } = await promisify(execFile)(program ?? '', [SCRIPT, 'texts', ...paths]);
    const peer = stdout
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as Readonly<Record<string, PeerObject>>);
    expect(peer.length).toBe(all.length);
    for (const [index, bytes] of all.entries()) {
      const { texts, errors } = textsOfBundle(bytes);
      expect(errors).toEqual([]);
      const ours = Object.fromEntries(
        [...Map.groupBy(texts, ({ pathId }) => pathId)].map(([pathId, found]) => [
          String(pathId),
          { name: found[0]?.name, texts: found.map(({ text }) => text) },
        ]),
      );
      const theirs = Object.fromEntries(
        Object.entries(peer[index] ?? {}).map(([pathId, { name, texts }]) => [pathId, { name, texts }]),
      );
      expect(ours).toEqual(theirs);
      expect(Object.keys(ours)).toContain(String(LARGE_PATH_ID));
    }
  });
});
