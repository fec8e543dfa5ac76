import { afterAll, expect, it } from 'vitest';
import { PATCHER_VERSION } from '../../../../../src/daemon/localized/patch/patcher-version.ts';
import { blake3Hex } from '../../../../../src/platform/hashing/blake3.ts';
import { HOSTILE_RULES, hostileContainers } from '../../../../support/hostile-containers.ts';
import { patchBytes, randomUnitEdits, unitsOf } from '../../../../support/patch-bytes.ts';
import { temporaryDirectory } from '../../../../support/temporary-directory.ts';

/**
 * The beginnings of the digests of containers before and after the same edits. When the second one of a line changes, raise
 * PATCHER_VERSION, or else containers that were patched before stay in use beside those of the new writer; then write the new
 * digests here under the new version.
 */
const PINNED: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  '1': {
    '0 a.json': '68e0bcd631c50c3f -> 04e38249aaf6cef7',
    '1 a.csv': '3a5ae002a8ff09b2 -> 568315a99103af35',
    '2 a.tsv': '7142a7fe256cad9a -> b8ef9a16d6322149',
    '3 a.txt': '41f196ad057fdf1e -> 347972847cf21eb1',
    '4 a.bin': '8863e698a2479d83 -> 459e6a9638e1d808',
    '5 a.db': '8eb23a6922a2faba -> c87ee4bfefd6b648',
    '6 a.zip': '0860df63a0b22444 -> 98c1613a71adb646',
    '7 crypt.zip': '3a10c0198724499b -> c3769590d9cef3bc',
    '8 a.assets': '6ed9ce07795a097e -> 61bfe5ec75075d6d',
    '9 old.assets': '1c8935aea9362a4d -> 583d612b7ab7120b',
    '10 stripped.assets': '5e100996b64abeb4 -> 6a95c4ff6e6bc313',
    '11 plain.bundle': '2e1359873581f6c8 -> db2d04aec9fb39d4',
    '12 lz4.bundle': 'a75b5200c939e2b7 -> d6432f7587505a50',
    '13 lzma.bundle': '0d19a69afef156d2 -> 59a6b6a9157befc6',
    '14 a.zip': 'd6c31a2fad4ac14c -> b62369aabd594a96',
    '15 tables.zip': '41f05c82be62e312 -> 20bb39ba87237dee',
    '16 a.bundle': '604b33992af1d4bb -> f10d1e9e7a0f9602',
    '17 a.bundle': 'dd48c0c335077471 -> 41768d78acf3f169',
    '18 a.zip': 'b16de1c96e05c9d3 -> 506b28fb66e7821a',
    '19 a.zip': '39fb8089b259ea63 -> 908f143be4c8cd2f',
    '20 a.zip': '6840db65de9b44b0 -> 6bcad60f1a26cbf8',
    '21 a.bundle': '5e3eeb46a60e92fc -> 91221038440ce38e',
    '22 crypt.zip': '38a053cd9c227f82 -> bc717811185be4fc',
  },
};

const containers = await hostileContainers(await temporaryDirectory(afterAll));

it('stands for the bytes that the writers of all formats give', async () => {
  const found: Record<string, string> = {};
  for (const [number, { destination, bytes, wrap }] of containers.entries()) {
    const official = await wrap(bytes);
    const edits = randomUnitEdits(await unitsOf(destination, official, HOSTILE_RULES), number + 1);
    const { bytes: patched } = await patchBytes(destination, official, edits, HOSTILE_RULES);
    const digests = [official, patched ?? Buffer.alloc(0)].map((each) => blake3Hex(each).slice(0, 16));
    found[`${number} ${destination}`] = digests.join(' -> ');
  }
  expect(found).toEqual(PINNED[PATCHER_VERSION]);
});
