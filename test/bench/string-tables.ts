import { stringTable } from '../../demo/game/unity/string-table.ts';
import { writeSerializedFile } from '../../demo/game/unity/write-serialized-file.ts';
import { createRandom } from '../../demo/game/seeded-random.ts';

/** Texts of each table of {@link stringTables}. */
export const ROWS_OF_TABLE = 10_000;
const WORDS_OF_TEXT = 19;
const WORDS =
  '私 今日 明日 学校 友達 行く 食べる 先輩 。 、 「 」 は が を に それ ありがとう ございます 先生 <b> </b> {0} 走る 見つけ どこ いつ なぜ 石 光 闇 夜明け 海 空'.split(
    ' ',
  );

/** A serialized file of string tables in Japanese. */
export function stringTables(texts: number): Buffer {
  const random = createRandom(14);
  const objects = Array.from({ length: texts / ROWS_OF_TABLE }, (_, table) => {
    const rows = Array.from({ length: ROWS_OF_TABLE }, (_, row) => ({
      id: 2n ** 62n + BigInt(table * ROWS_OF_TABLE + row) * 65_536n,
      text: Array.from({ length: WORDS_OF_TEXT }, () => random.pick(WORDS)).join(''),
    }));
    return stringTable(`Table${table}_ja`, 'ja', BigInt(table + 1), rows);
  });
  return writeSerializedFile({ version: 22, objects, externals: ['archive:/scripts'] });
}
