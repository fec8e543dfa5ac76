import { createRandom, type Random } from './seeded-random.ts';
import type { DialogRow } from './dialog-row.ts';

/** Ids are above 2^53, which a reader that takes numbers for doubles cannot tell apart. */
const FIRST_ID = 9_007_199_254_740_993n;
const IDS_OF_SCRIPT = 1000n;
const SCRIPT_NUMBERS = 1_000_000_000n;

const SPEAKERS = ['アロナ', 'プラナ', 'ホシノ', 'シロコ', 'ノノミ', 'アヤネ', 'セリカ', 'ヒナ'] as const;
/** Lines that are said in many scenes. */
const REPEATED = [
  '先生、おはようございます。',
  'うへ～……。',
  'はい、準備はできています。',
  'えへへ、ありがとうございます。',
  '<color=#ff8800>注意</color>：ここから先は危険です。',
  '{0}個の石を手に入れました。',
] as const;
const TIMES = ['昨日', '今朝', '放課後', '週末', 'さっき', '来月', '夕方', '雨の日', '休み時間', '夜明け前'];
const PLACES = [
  '図書館',
  '屋上',
  '<ruby=しれいぶ>司令部</ruby>',
  '商店街',
  '砂漠の駅',
  '[ruby=たいいくかん]体育館[/ruby]',
  '港',
  '温泉郷',
  'ゲーム開発部の部室',
  '生徒会室',
  '遊園地',
  '研究棟',
];
const THINGS = [
  '古い地図',
  '{0}枚の写真',
  '青い鍵',
  '<color=#33ccff>光る石</color>',
  '先輩の手紙',
  'たい焼き',
  '壊れた無線機',
  '%s',
  '約束のノート',
  '小さなロボット',
  '{item}',
  '<ruby=ほうもつ>宝物</ruby>',
  '新しい制服',
  '猫の首輪',
];
const ACTIONS = [
  '見つけました',
  '落としてしまいました',
  '預かっています',
  '探しています',
  '修理しました',
  '交換してもらいました',
  '隠しておきました',
  '届けに行きましょう',
  'みんなに見せたいです',
  '買いそびれました',
  '調べてみませんか',
  '忘れられません',
];
const ENDINGS = [
  '。',
  '！',
  '、{name}先生。',
  '……たぶん。',
  '。\n内緒ですよ？',
  '。あと%d分です！',
  '。「秘密」ですからね。',
];

/**
 * A Japanese line with ruby, tags and placeholders as games have them. The same arguments give the same line.
 *
 * @param script the name of the scene or table
 * @param number of the line in the script, below 1,000
 * @param version another version has another text, and the same id and speaker
 */
export function dialogLine(script: string, number: number, version = 0): DialogRow {
  const scriptId = BigInt(checksum(script)) % SCRIPT_NUMBERS;
  return {
    id: FIRST_ID + scriptId * IDS_OF_SCRIPT + BigInt(number),
    speaker: seededBy(`${script} ${number}`).pick(SPEAKERS),
    text: dialogText(seededBy(`${script} ${number} ${version}`)),
  };
}

function dialogText(random: Random): string {
  if (random.below(8) === 0) return random.pick(REPEATED);
  const [time, place, thing, action] = [TIMES, PLACES, THINGS, ACTIONS].map((words) => random.pick(words));
  return `${time}、${place}で${thing}を${action}${random.pick(ENDINGS)}`;
}

function seededBy(text: string): Random {
  const random = createRandom(checksum(text));
  // The first numbers of similar seeds are similar.
  for (let skipped = 0; skipped < 8; skipped += 1) random.below(2);
  return random;
}

/** FNV-1a, 32 bits. Source: draft-eastlake-fnv, section 2. */
function checksum(text: string): number {
  let hash = 0x811c9dc5;
  for (const byte of Buffer.from(text)) hash = Math.imul(hash ^ byte, 0x01000193) >>> 0;
  return hash;
}
