import { open } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import type { ReleaseId } from '../../../src/domain/release/release-id.ts';
import { planExport } from '../../../src/mirror/bundle/export-plan.ts';
import { mostlyMissingPacks } from '../../../src/mirror/bundle/missing-in-packs.ts';
import { openBundle } from '../../../src/mirror/bundle/open-bundle.ts';
import { openLayout } from '../../../src/mirror/bundle/open-layout.ts';
import { writeBundle } from '../../../src/mirror/bundle/write-bundle.ts';
import { blake3Hex } from '../../../src/platform/hashing/blake3.ts';
import { makeAttestedStore } from '../../support/bundles.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';

const SIGNAL = new AbortController().signal;

it('finds the packs of which more than half is missing, and counts an object once', async () => {
  const directory = await temporaryDirectory();
  const store = await makeAttestedStore(directory);
  // Packs of 10 bytes: "aaaabbbbbb", "bbccccdddd", "d".
  const [a, b, c, d] = ['aaaa', 'bbbbbbbb', 'cccc', 'ddddd'];
  await store.release({ releaseId: 'r1', files: { a, b, c, d } });
  const plan = await planExport(store.root, 'r1' as ReleaseId, null, SIGNAL);
  const path = join(directory, 'r1.tar');
  const file = await open(path, 'w');
  const write = async (bytes: Uint8Array): Promise<void> => await file.writeFile(bytes);
  await writeBundle({ plan, write, onProgress: () => undefined, signal: SIGNAL, packBytes: 10 });
  await file.close();
  const layout = await openLayout(path);
  onTestFinished(async () => await layout.close());
  const [manifest] = layout.manifests;
  if (manifest === undefined) throw new Error('no manifest');
  const bundle = await openBundle(layout, manifest, SIGNAL);
  const [first = '', second = '', third = ''] = bundle.layers.packs.map(({ digest }) => digest);
  const missing = async (...texts: readonly string[]): Promise<[string, number][]> => [
    ...(await mostlyMissingPacks(
      [bundle],
      texts.map((text) => blake3Hex(Buffer.from(text))),
    )),
  ];
  expect(await missing(a, a)).toEqual([]);
  expect(await missing(a, b)).toEqual([[first, 10]]);
  expect(await missing(d, c, 'unknown')).toEqual([
    [second, 8],
    [third, 1],
  ]);
});
