import { mkdir, rename, rm, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { demoCatalogs } from './game/catalogs/demo-catalogs.ts';
import { demoContainers } from './game/demo-containers.ts';
import { DEMO_RELEASE_IDS, type DemoReleaseId } from './game/demo-story.ts';
import { createRandom } from './game/seeded-random.ts';

const KIB = 1024;
const MIB = 1024 * KIB;
const APP_VERSION = '1.67.412528';

/**
 * Writes the tree of a demo release: a few hundred generated resources of the kinds that a real release has. The same bytes
 * every time. The first release has only text and a few odd files, so that its sync is quick.
 *
 * @param directory where to put it; a tree that is there is replaced, one that is half written is never seen
 */
export async function writeDemoRelease(directory: string, releaseId: DemoReleaseId): Promise<void> {
  const building = `${directory}.building`;
  await rm(building, { recursive: true, force: true });
  const prepare = async (destination: string): Promise<string> => {
    const path = join(building, destination);
    await mkdir(dirname(path), { recursive: true });
    return path;
  };
  for (const { destination, write } of demoContainers(releaseId)) await write(await prepare(destination));
  const media = releaseId === DEMO_RELEASE_IDS[0] ? [] : mediaResources();
  const random = createRandom(20_260_109);
  for (const [destination, size] of [...oddResources(), ...media]) {
    await writeFile(await prepare(destination), random.bytes(size));
  }
  for (const [destination, bytes] of await demoCatalogs(building, releaseId)) {
    await writeFile(await prepare(destination), bytes);
  }
  const release = { release_id: releaseId, app_version: APP_VERSION };
  await writeFile(await prepare('server-info.json'), JSON.stringify(serverInfo(releaseId), null, 2));
  await writeFile(await prepare('release.json'), JSON.stringify(release));
  await rm(directory, { recursive: true, force: true });
  await rename(building, directory);
}

function* oddResources(): Generator<[string, number]> {
  yield ['Windows_PatchPack/Exactly1MiB.bundle', MIB];
  yield ['Windows_PatchPack/OneByteMore.bundle', MIB + 1];
  yield ['Windows_PatchPack/unity default resources', 300 * KIB];
  yield ['Windows_PatchPack/empty.bytes', 0];
}

function* mediaResources(): Generator<[string, number]> {
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
}

function serverInfo(releaseId: DemoReleaseId): object {
  const host = 'https://prod-clientpatch.bluearchiveyostar.com';
  const build = releaseId.slice(releaseId.indexOf('-') + 1);
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
          { Name: '1.67', AddressablesCatalogUrlRoot: `${host}/${build}` },
        ],
        BundleVersion: 'demo000001',
      },
    ],
  };
}
