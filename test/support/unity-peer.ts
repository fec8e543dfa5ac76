import { execFile } from 'node:child_process';
import { writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { writeBundle } from '../../demo/game/unity/write-bundle.ts';
import type { UnityObject } from '../../demo/game/unity/write-serialized-file.ts';
import { pythonProgram } from './python-tools.ts';
import { temporaryDirectory } from './temporary-directory.ts';
import {
  DIALOG_FIELDS,
  DIALOG_VALUE,
  LARGE_PATH_ID,
  sampleBehaviour,
  sampleObjects,
} from './unity-samples.ts';

const SCRIPT = resolve(import.meta.dirname, 'read-unity-bundles.py');
const COMPRESSIONS = ['none', 'lz4', 'lz4hc', 'lzma'] as const;

/** The Python that has UnityPy; `null` without one. */
export const unityPeer = pythonProgram('unity-tools', null);

/** The sample objects without the field that UnityPy cannot read: it does not know leaves by their size alone. */
export function peerObjects(): UnityObject[] {
  const fields = DIALOG_FIELDS.filter(({ name }) => name !== 'color');
  return sampleObjects().map((each) =>
    each.pathId === LARGE_PATH_ID ? sampleBehaviour(LARGE_PATH_ID, 'Dialog', fields, DIALOG_VALUE) : each,
  );
}

/** A bundle of a serialized file and a resource; versions, compressions and layouts vary with the index. */
export function variedBundle(index: number, bytes: Buffer, resource: Buffer, engineVersion?: string): Buffer {
  return writeBundle(
    [
      { name: 'CAB-first', bytes },
      { name: 'CAB-first.resS', bytes: resource, flags: 0 },
    ],
    {
      version: 6 + (index % 3),
      ...(engineVersion === undefined ? {} : { engineVersion }),
      compression: COMPRESSIONS[index % COMPRESSIONS.length] ?? 'none',
      infoAtEnd: index % 5 === 0,
      paddedStart: index % 3 === 2,
      blockBytes: 1024,
    },
  );
}

/** Reads bundles with UnityPy. @returns the JSON that the script prints for each, in their order */
export async function askUnityPeer(
  what: 'texts' | 'paths' | 'values',
  bundles: readonly Buffer[],
): Promise<unknown[]> {
  const directory = await temporaryDirectory();
  const paths = await Promise.all(
    bundles.map(async (bytes, index) => {
      const path = join(directory, `${index}.bundle`);
      await writeFile(path, bytes);
      return path;
    }),
  );
  const { stdout } = await promisify(execFile)(unityPeer ?? '', [SCRIPT, what, ...paths], {
    maxBuffer: 64 * 1024 * 1024,
  });
  return stdout
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as unknown);
}
