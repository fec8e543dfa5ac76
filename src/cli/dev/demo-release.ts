import { mkdir, rename, rm, stat, writeFile } from 'node:fs/promises';
import { createWriteStream } from 'node:fs';
import { dirname, join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { ZipFile } from 'yazl';
import { createRandom, type Random } from './seeded-random.ts';

/** The release that the demo upstream offers. */
export const DEMO_RELEASE_ID = '1.67.412528-r90_demo';

const KIB = 1024;
const MIB = 1024 * KIB;
const SPEAKERS = ['アロナ', 'プラナ', 'ホシノ', 'シロコ', 'ノノミ', 'アヤネ', 'セリカ', 'ヒナ'];
const PHRASES = [
  '先生、おはようございます。',
  '今日も一日がんばりましょう。',
  'その{0}は、どこで見つけたんですか？',
  '<color=#ff8800>注意</color>：ここから先は危険です。',
  'アルバイトの時間に遅れちゃう！',
  'はい、準備はできています。',
  'えへへ、ありがとうございます。',
  '{0}個の石を手に入れました。',
];

/**
 * Writes the demo upstream: a few hundred generated resources of the kinds that a real release has. The same bytes
 * every time, so that a second start finds nothing to do. A tree that is already complete is left alone.
 *
 * @param directory where to put it; created
 */
export async function writeDemoRelease(directory: string): Promise<void> {
  const complete = await stat(join(directory, 'release.json')).then(
    () => true,
    () => false,
  );
  if (complete) return;
  const building = `${directory}.building`;
  await rm(building, { recursive: true, force: true });
  await rm(directory, { recursive: true, force: true });
  const write = async (destination: string, bytes: Uint8Array | string): Promise<void> => {
    const path = join(building, destination);
    await mkdir(dirname(path), { recursive: true });
    await writeFile(path, bytes);
  };
  const random = createRandom(20_260_109);
  for (const [destination, bytes] of textResources(random)) await write(destination, bytes);
  for (const [destination, size] of binaryResources()) await write(destination, random.bytes(size));
  await writeArchives(building, random);
  await write('server-info.json', JSON.stringify(serverInfo(), null, 2));
  await write('release.json', JSON.stringify({ release_id: DEMO_RELEASE_ID, app_version: '1.67.412528' }));
  await rename(building, directory);
}

function* textResources(random: Random): Generator<[string, string]> {
  for (let scene = 0; scene < 120; scene += 1) {
    const rows = Array.from({ length: 20 }, (_, line) => ({
      // Ids beyond 2^53 are common in such tables; as text here so that every reader keeps them.
      Id: String(9_007_199_254_740_993n + BigInt(scene * 100 + line)),
      Speaker: random.pick(SPEAKERS),
      TextJp: random.pick(PHRASES).replace('{0}', `{${line % 2}}`),
    }));
    yield [
      `Scenario/Scene${String(scene).padStart(4, '0')}.json`,
      `${JSON.stringify({ DataList: rows }, null, 1)}\n`,
    ];
  }
  for (let table = 0; table < 60; table += 1) {
    const rows = Array.from(
      { length: 40 },
      (_, row) => `${row},${random.pick(SPEAKERS)},"${random.pick(PHRASES)}"`,
    );
    yield [
      `TableBundles/Localize${String(table).padStart(3, '0')}.csv`,
      `Key,Speaker,TextJp\r\n${rows.join('\r\n')}\r\n`,
    ];
  }
}

function* binaryResources(): Generator<[string, number]> {
  for (let voice = 0; voice < 80; voice += 1) {
    yield [
      `MediaResources/GameData/Audio/VOC_JP/JP_${String(voice).padStart(4, '0')}.ogg`,
      (8 + (voice % 50) * 5) * KIB,
    ];
  }
  for (let image = 0; image < 40; image += 1) {
    yield [
      `MediaResources/UIs/03_Scenario/BG_${String(image).padStart(3, '0')}.jpg`,
      (120 + image * 17) * KIB,
    ];
  }
  yield ['MediaResources/GameData/Movie/Opening.mp4', 64 * MIB];
  yield ['Windows_PatchPack/FullPack_0001.bundle', 24 * MIB + 4321];
  yield ['Windows_PatchPack/FullPack_0002.bundle', 9 * MIB];
  yield ['Windows_PatchPack/Exactly1MiB.bundle', MIB];
  yield ['Windows_PatchPack/OneByteMore.bundle', MIB + 1];
  yield ['Windows_PatchPack/unity default resources', 300 * KIB];
  yield ['Windows_PatchPack/empty.bytes', 0];
}

async function writeArchives(directory: string, random: Random): Promise<void> {
  await mkdir(join(directory, 'TableBundles'), { recursive: true });
  for (let archive = 0; archive < 12; archive += 1) {
    const zip = new ZipFile();
    for (let member = 0; member < 8; member += 1) {
      const rows = Array.from({ length: 30 }, (_, id) => ({ Id: id, TextJp: random.pick(PHRASES) }));
      // A fixed time keeps the archive the same from run to run.
      const options = { mtime: new Date(Date.UTC(2026, 0, 9)), mode: 0o100_644 };
      zip.addBuffer(Buffer.from(JSON.stringify(rows)), `table${member}.json`, options);
    }
    zip.end();
    const path = join(directory, 'TableBundles', `Excel${String(archive).padStart(2, '0')}.zip`);
    await pipeline(zip.outputStream, createWriteStream(path));
  }
}

function serverInfo(): object {
  const host = 'https://prod-clientpatch.bluearchiveyostar.com';
  return {
    ConnectionGroups: [
      {
        Name: 'Demo-Audit',
        ManagementDataUrl: 'https://notice.invalid/prod/index.json',
        IsProductionAddressables: true,
        ApiUrl: 'https://game.invalid:5000/api/',
        GatewayUrl: 'https://gateway.invalid:5100/api/',
        KibanaLogUrl: 'https://log.invalid:5300',
        ProhibitedWordBlackListUri: 'https://notice.invalid/blacklist.csv',
        ProhibitedWordWhiteListUri: 'https://notice.invalid/whitelist.csv',
        CustomerServiceUrl: 'https://help.invalid/contact',
        OverrideConnectionGroups: [
          { Name: '1.0', AddressablesCatalogUrlRoot: `${host}/m28_1_0_1_demo` },
          { Name: '1.67', AddressablesCatalogUrlRoot: `${host}/r90_demo` },
        ],
        BundleVersion: 'demo000001',
      },
    ],
  };
}
