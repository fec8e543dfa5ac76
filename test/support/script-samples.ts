import type { ScriptPreset } from '../../src/formats/script/script-presets.ts';

/** A script of each engine and platform, and its texts with the labels of their lines in front. */
export const SCRIPT_SAMPLES: Readonly<
  Record<ScriptPreset, readonly [script: string, texts: readonly string[]]>
> = {
  tyrano: [
    `; 注釈
*start|第一章
[cm][bg storage="部屋.jpg"]
/* ここは
出ない */
[iscript]
f.name = "名前";
[endscript]
#あかね:happy
こんにちは、[ruby text="せんせい"]先生[l][r]
元気？[p]
#
[glink text="はい" target=*yes] [glink text="いいえ" target=*no]
@ptext layer=1 text='題名'
[chara_show name="akane"]
[playse storage="音.ogg"]ドアが開いた。
`,
    [
      'scene=start|第一章',
      'speaker=あかね|scene=start|あかね',
      'speaker=あかね|scene=start|こんにちは、[ruby text="せんせい"]先生',
      'speaker=あかね|scene=start|元気？',
      'scene=start|はい',
      'scene=start|いいえ',
      'scene=start|題名',
      'scene=start|ドアが開いた。',
    ],
  ],
  renpy: [
    String.raw`define a = Character("アロナ", color="#fff")
init python:
    name = "コード"
    title = _("題名")

    def f():
        return "これも"
label start: # 注釈
    scene bg room
    "地の文"
    a happy @ left "\"はい\"、\n先生！" with dissolve
    "先生" '無題'
    voice "声.ogg"
    $ x = "変数"
    extend "続き"
    menu:
        "行く" if x:
            jump go
        "行かない":
            pass
    a """
    長い
    台詞

    二つ目
    """
screen s():
    text "画面"
    textbutton _("開始") action Start()
        text_color "白"
        style_prefix "様式"
translate japanese strings:
    old "元"
    new "新"
`,
    [
      'アロナ',
      '題名',
      'scene=start|地の文',
      'speaker=a|scene=start|"はい"、\n先生！',
      'speaker=先生|scene=start|先生',
      'speaker=先生|scene=start|無題',
      'scene=start|続き',
      'scene=start|行く',
      'scene=start|行かない',
      'speaker=a|scene=start|長い\n    台詞',
      'speaker=a|scene=start|二つ目',
      'scene=start|画面',
      'scene=start|開始',
      'scene=start|新',
    ],
  ],
  yarn: [
    `title: Start
tags: 題
---
// 注釈
Arona: こんにちは、{$name}！ #line:0abc
<<if $met>>
    -> はい <<if $a>> #line:1 #once
        ただの行 // 注釈
<<endif>>
===
外
`,
    [
      'key=line:0abc|speaker=Arona|scene=Start|こんにちは、{$name}！',
      'key=line:1|scene=Start|はい',
      'scene=Start|ただの行',
    ],
  ],
  properties: [
    'title = 題名\n# 注釈\\\n! 注釈\nlong: 一行目\\n\\\n    二行目\nu=\\u3042\\\\\nk\\ 1 値\nempty=\n',
    ['key=title|題名', 'key=long|一行目\n二行目', 'key=u|あ\\', 'key=k 1|値', 'key=empty|'],
  ],
  strings: [
    `/* 注釈 "一 */
/* 二行の
   "注釈 */
// "三
"k" = "値\\"引用\\"";
bare = "二行
の値";
"a" = "一"; "b" = "二";
`,
    ['key=k|値"引用"', '二行\nの値', 'key=a|一', 'key=b|二'],
  ],
};
