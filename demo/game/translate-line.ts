import { splitPlaceholders } from '../../src/domain/text/placeholders.ts';

/** Parts of the demo lines in simplified Chinese. A pair stands around the thing that it is about. */
const WHOLE_LINES: ReadonlyMap<string, string> = new Map([
  ['先生、おはようございます。', '老师，早上好。'],
  ['うへ～……。', '呜嘿～……。'],
  ['はい、準備はできています。', '好的，已经准备好了。'],
  ['えへへ、ありがとうございます。', '诶嘿嘿，谢谢您。'],
  ['<color=#ff8800>注意</color>：ここから先は危険です。', '<color=#ff8800>注意</color>：前方危险。'],
  ['{0}個の石を手に入れました。', '获得了{0}块石头。'],
]);
const TIMES: ReadonlyMap<string, string> = new Map([
  ['昨日', '昨天'],
  ['今朝', '今天早上'],
  ['放課後', '放学后'],
  ['週末', '周末'],
  ['さっき', '刚才'],
  ['来月', '下个月'],
  ['夕方', '傍晚'],
  ['雨の日', '下雨天'],
  ['休み時間', '课间'],
  ['夜明け前', '天亮前'],
]);
const PLACES: ReadonlyMap<string, string> = new Map([
  ['図書館', '图书馆'],
  ['屋上', '天台'],
  ['<ruby=しれいぶ>司令部</ruby>', '<ruby=zhǐhuībù>指挥部</ruby>'],
  ['商店街', '商业街'],
  ['砂漠の駅', '沙漠车站'],
  ['[ruby=たいいくかん]体育館[/ruby]', '[ruby=tǐyùguǎn]体育馆[/ruby]'],
  ['港', '港口'],
  ['温泉郷', '温泉乡'],
  ['ゲーム開発部の部室', '游戏开发部的活动室'],
  ['生徒会室', '学生会室'],
  ['遊園地', '游乐园'],
  ['研究棟', '研究楼'],
]);
const THINGS: ReadonlyMap<string, string> = new Map([
  ['古い地図', '旧地图'],
  ['{0}枚の写真', '{0}张照片'],
  ['青い鍵', '蓝色钥匙'],
  ['<color=#33ccff>光る石</color>', '<color=#33ccff>发光的石头</color>'],
  ['先輩の手紙', '学姐的信'],
  ['たい焼き', '鲷鱼烧'],
  ['壊れた無線機', '坏掉的对讲机'],
  ['%s', '%s'],
  ['約束のノート', '约定的笔记本'],
  ['小さなロボット', '小机器人'],
  ['{item}', '{item}'],
  ['<ruby=ほうもつ>宝物</ruby>', '<ruby=bǎowù>宝物</ruby>'],
  ['新しい制服', '新校服'],
  ['猫の首輪', '猫项圈'],
]);
const ACTIONS: ReadonlyArray<readonly [japanese: string, before: string, after: string]> = [
  ['見つけました', '找到了', ''],
  ['落としてしまいました', '弄丢了', ''],
  ['預かっています', '保管着', ''],
  ['探しています', '正在找', ''],
  ['修理しました', '修好了', ''],
  ['交換してもらいました', '换到了', ''],
  ['隠しておきました', '藏好了', ''],
  ['届けに行きましょう', '去送', '吧'],
  ['みんなに見せたいです', '想给大家看', ''],
  ['買いそびれました', '没能买到', ''],
  ['調べてみませんか', '要不要查查', ''],
  ['忘れられません', '忘不了', ''],
];
const ENDINGS: ReadonlyMap<string, string> = new Map([
  ['。', '。'],
  ['！', '！'],
  ['、{name}先生。', '，{name}老师。'],
  ['……たぶん。', '……大概。'],
  ['。\n内緒ですよ？', '。\n要保密哦？'],
  ['。あと%d分です！', '。还有%d分钟！'],
  ['。「秘密」ですからね。', '。因为是“秘密”嘛。'],
]);

/** A token that replaces a placeholder in a request to a provider. */
const TOKEN = /<x id="\d+"\/>/g;
/** Stands for any placeholder; no line has this character. */
const GAP = '\0';
/** The parts with placeholders, the longest first: the shortest are a placeholder alone, and would fit everywhere. */
const WITH_GAPS = [WHOLE_LINES, PLACES, THINGS, ENDINGS]
  .flatMap((parts) => [...parts.keys()])
  .map((part) => ({ part, masked: fillPlaceholders(part, () => GAP) }))
  .filter(({ masked }) => masked.includes(GAP))
  .toSorted((a, b) => b.masked.length - a.masked.length);

const LINE = /^(?<time>[^、]+)、(?<place>.+?)で(?<thing>.+?)を(?<action>.+)$/s;

/**
 * Translates a line of a demo release to simplified Chinese, as a translator who keeps tags and placeholders.
 *
 * @returns `null` for a text that is not a demo line
 */
export function translateDemoLine(line: string): string | null {
  const whole = WHOLE_LINES.get(line);
  if (whole !== undefined) return whole;
  const { time = '', place = '', thing = '', action = '' } = LINE.exec(line)?.groups ?? {};
  const found = ACTIONS.find(([japanese]) => action.startsWith(japanese));
  if (found === undefined) return null;
  const [japanese, before, after] = found;
  const parts = [
    TIMES.get(time),
    PLACES.get(place),
    THINGS.get(thing),
    ENDINGS.get(action.slice(japanese.length)),
  ];
  if (parts.includes(undefined)) return null;
  const [when, where, what, ending] = parts;
  return `${when}，在${where}${before}${what}${after}${ending}`;
}

/**
 * Translates a line of a demo release whose placeholders were replaced with tokens. The tokens keep their order.
 *
 * @param text with tokens such as `<x id="1"/>`
 * @returns `null` for a text that is not a demo line
 */
export function translateMaskedDemoLine(text: string): string | null {
  const line = WITH_GAPS.reduce(
    (filled, { part, masked }) => filled.replaceAll(masked, () => part),
    text.replaceAll(TOKEN, GAP),
  );
  const target = translateDemoLine(line);
  if (target === null) return null;
  const tokens = (text.match(TOKEN) ?? []).values();
  return fillPlaceholders(target, () => tokens.next().value ?? '');
}

/** Replaces each placeholder of a text, in their order. */
function fillPlaceholders(text: string, fill: () => string): string {
  return splitPlaceholders(text)
    .map((part, at) => (at % 2 === 0 ? part : fill()))
    .join('');
}
