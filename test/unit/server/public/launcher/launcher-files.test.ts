import { describe, expect, it } from 'vitest';
import { renderSize } from '../../../../../src/server/public/launcher/render-size.ts';
import { startTestServer, type TestServer } from '../../../../support/start-test-server.ts';
import { until } from '../../../../support/until.ts';

const MIB = 1024 * 1024;
const FILES = {
  'TableBundles/Excel.zip': Buffer.alloc(MIB, 1),
  'TableBundles/.hidden': 'dot',
  'Android_PatchPack/FullPatch_000.zip': Buffer.alloc(3 * MIB, 2),
  'iOS_PatchPack/BundlePackingInfo.bytes': Buffer.alloc(3 * MIB, 3),
  'Windows_PatchPack/FullPatch_000.zip': Buffer.alloc(2 * MIB, 4),
  'MediaResources-Windows/Catalog/MediaCatalog.bytes': 'media',
};

/** Bytes of a size, as launchers read it: units are powers of 1024. */
function readSize(text: string): number {
  const [, number, unit] = /^([0-9.]+)(B|KB|MB|GB|TB)$/.exec(text) ?? [];
  return Number(number) * 1024 ** ['B', 'KB', 'MB', 'GB', 'TB'].indexOf(unit ?? '');
}

async function serve(launcher: Readonly<Record<string, unknown>>): Promise<TestServer> {
  const server = await startTestServer({ config: { launcher } });
  const official = await server.store.addRelease({ releaseId: 'r1', files: FILES });
  const issuedAt = Math.floor(Date.now() / 1000);
  server.daemon.setEnvelope(server.store.attest({ version: 1, issuedAt, official }));
  await until(() => server.parts.room.serving.verdict('official').distributable, 5_000);
  return server;
}

async function listed(launcher: Readonly<Record<string, unknown>>): Promise<[string[], string]> {
  const server = await serve(launcher);
  const { file } = (await (await fetch(`${server.url}/v1/launcher/bootstrap`)).json()) as {
    file: { path: string; size: string }[];
  };
  const { data } = (await (await fetch(`${server.url}/api/launcher/game/config`)).json()) as {
    data: { decompression_size: string };
  };
  const sum = file.reduce((total, { size }) => total + Number(size), 0);
  expect(readSize(data.decompression_size)).toBeGreaterThanOrEqual(sum);
  return [file.map(({ path }) => path.slice(1)), data.decompression_size];
}

describe('the files that launchers install', () => {
  const sorted = Object.keys(FILES).toSorted((left, right) => (left < right ? -1 : 1));

  it('are all files without globs', async () => {
    expect(await listed({})).toEqual([sorted, '9.1MB']);
  });

  it('leave out what a PC does not need, also from the size', async () => {
    expect(await listed({ exclude: ['{Android,iOS}_PatchPack/**'] })).toEqual([
      sorted.filter((name) => !/^(?:Android|iOS)_/.test(name)),
      '3.1MB',
    ]);
  });

  it('are the included ones that are not excluded', async () => {
    expect(
      await listed({ include: ['TableBundles/**', 'Windows_*/*.zip'], exclude: ['**/*.bytes'] }),
    ).toEqual([
      ['TableBundles/.hidden', 'TableBundles/Excel.zip', 'Windows_PatchPack/FullPatch_000.zip'],
      '3.1MB',
    ]);
  });

  it('may be none', async () => {
    expect(await listed({ include: ['nothing'] })).toEqual([[], '0B']);
  });

  it('do not limit the paths that are served', async () => {
    const server = await serve({ exclude: ['**'] });
    const response = await fetch(
      `${server.url}/prod-clientpatch.bluearchiveyostar.com/r1/TableBundles/Excel.zip`,
    );
    expect(response.status).toBe(200);
    await response.arrayBuffer();
  });
});

describe('renderSize', () => {
  it.each([
    [0, '0B'],
    [1023, '1023B'],
    [1024, '1KB'],
    [1025, '1.1KB'],
    [MIB - 1, '1MB'],
    [MIB, '1MB'],
    [1_064_319_423, '1015.1MB'],
    [1024 ** 3 - 1, '1GB'],
    [6 * 1024 ** 3, '6GB'],
    [1024 ** 5, '1024TB'],
  ])('renders %i bytes as %s', (bytes, text) => {
    expect(renderSize(bytes)).toBe(text);
    expect(readSize(text)).toBeGreaterThanOrEqual(bytes);
  });
});
