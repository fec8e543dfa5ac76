import { createRandom } from '../../demo/game/seeded-random.ts';

const MIB = 1024 * 1024;

/** The files of one version of a small release. Some are shared by all versions, some have several blocks. */
export function crashFiles(version: number): Map<string, Buffer> {
  return new Map([
    ['shared/small', Buffer.from('the same in every version')],
    ['shared/large', createRandom(1).bytes(MIB + 1)],
    ['own/small', Buffer.from(`version ${version}`)],
    ['own/large', createRandom(100 + version).bytes(2 * MIB + 17)],
  ]);
}
