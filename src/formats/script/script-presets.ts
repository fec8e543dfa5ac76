import { compileScript, type CompiledScript, type ScriptSource } from './compile-script.ts';

const QUOTED = String.raw`"(?<text>(?:[^"\\]|\\.)*)"`;
const SINGLE = String.raw`'(?<text>(?:[^'\\]|\\.)*)'`;

/** A line of tags only, of KAG: `@tag a=b`, or `[tag a=b][tag]`. */
const KAG_TAGS = String.raw`^\s*(?:@.*|(?:\[[^\]]*\]\s*)+)$`;
/** Attributes of tags that players see. */
const KAG_ATTRIBUTES = '(?:text|jname|hint|label_ok|label_cancel)';
/** Tags in front of a message that are no part of it; others, such as ruby, are. */
const KAG_LEADING = String.raw`(?:\[(?:cm|l|p|er|ct|wt|wa|ws|wait|delay|nowait|endnowait|resetfont|current|position|chara_\w+|playse|stopse|playbgm|stopbgm|fadeinbgm|fadeoutbgm|voice|bg\d?|image|freeimage|quake)\b[^\]]*\]\s*)*`;

/**
 * TyranoScript and KiriKiri's KAG. Labels name scenes, and the heading behind `|` is shown when a game is saved. Sources:
 * tyrano.jp/usage, and the KAG3 reference of KiriKiri.
 */
const TYRANO: ScriptSource = {
  sections: [
    { begin: String.raw`^\s*/\*`, end: String.raw`\*/` },
    { begin: String.raw`^\s*[\[@]iscript\b`, end: String.raw`[\[@]endscript\b` },
    { begin: String.raw`^\s*[\[@]html\b`, end: String.raw`[\[@]endhtml\b` },
  ],
  patterns: [
    { match: String.raw`^\s*;` },
    { match: String.raw`^\s*\*(?<scene>[^\s|]+)\s*(?:\|(?<text>.*))?$` },
    { match: String.raw`^\s*#(?<name>[^:\s][^:]*?)(?::.*)?\s*$` },
    { match: String.raw`^\s*#(?<speaker>)` },
    { line: KAG_TAGS, match: String.raw`\b${KAG_ATTRIBUTES}\s*=\s*"(?<text>[^"]*)"` },
    { line: KAG_TAGS, match: String.raw`\b${KAG_ATTRIBUTES}\s*=\s*'(?<text>[^']*)'` },
    { line: KAG_TAGS, match: String.raw`\b${KAG_ATTRIBUTES}\s*=\s*(?<text>[^\s"'\]&%][^\s\]]*)` },
    { match: KAG_TAGS },
    {
      match: String.raw`^\s*${KAG_LEADING}(?<text>\S.*?)(?:\s*\[(?:p|l|r|cm|er|lr|resetfont|endnowait)\])*\s*$`,
    },
  ],
};

const RENPY_NAME = String.raw`[A-Za-z_][\w.]*`;
/** What may follow the string of a say statement: arguments, a transition, and a comment. */
const RENPY_TAIL = String.raw`\s*(?:\(.*\)|nointeract)?\s*(?:with\s.*)?(?:#.*)?$`;
const RENPY_STATEMENTS =
  '(?:scene|show|hide|play|queue|stop|voice|image|init|call|jump|return|with|pause|menu|if|elif|else|while|for|pass|import|from|use|add|window|translate|old|key|action|font|background|style_prefix|style|imagebutton|idle|hover|foreground|auto|properties)';
const UNDERSCORED = [{ match: String.raw`\b_p?\(\s*${QUOTED}` }, { match: String.raw`\b_p?\(\s*${SINGLE}` }];

const SCREEN_TEXTS = [QUOTED, SINGLE].map((quoted) => ({
  match: String.raw`^\s*(?:text|textbutton|label|tooltip)\s+${quoted}`,
}));

/**
 * Ren'Py: dialogue, narration, choices of menus, names of characters, texts of screens, and the new texts of translations.
 * Texts of Python code are left out, but those in `_("...")`. Source: the Ren'Py documentation, "The Ren'Py Language".
 */
const RENPY: ScriptSource = {
  escapes: 'backslash',
  sections: [
    { begin: String.raw`^\s*(?:init\b.*\s)?python\b.*:\s*(?:#.*)?$`, patterns: UNDERSCORED },
    { begin: String.raw`^\s*(?:style|transform)\b.*:\s*(?:#.*)?$` },
    // A property of a screen looks like a line that someone says: `text_color "#fff"`.
    {
      begin: String.raw`^\s*screen\s.*:\s*(?:#.*)?$`,
      patterns: [{ match: String.raw`^\s*#` }, ...UNDERSCORED, ...SCREEN_TEXTS],
    },
    {
      begin: String.raw`^\s*(?:(?<speaker>${RENPY_NAME})\s+)?"""\s*(?<text>[^"\s](?:[^"]*[^"\s])?)?\s*$`,
      end: '"""',
      patterns: [{ match: String.raw`^\s*(?<text>[^"\s](?:[^"]*[^"\s])?)\s*(?:""".*)?$`, block: true }],
    },
  ],
  patterns: [
    { match: String.raw`^\s*#` },
    { match: String.raw`^\s*label\s+(?<scene>[\w.]+)` },
    { match: String.raw`^\s*(?:define|default)\s.*\bCharacter\(\s*_?\(?\s*${QUOTED}` },
    { match: String.raw`^\s*(?:define|default)\s.*\bCharacter\(\s*_?\(?\s*${SINGLE}` },
    ...UNDERSCORED,
    { match: String.raw`^\s*(?:new|extend)\s+${QUOTED}` },
    { match: String.raw`^\s*(?:\$|define\b|default\b|${RENPY_STATEMENTS}\b)` },
    { match: String.raw`^\s*(?:(?<speaker>${RENPY_NAME})\s+)?"""(?<text>[^"]+)"""` },
    { match: String.raw`^\s*"(?<name>(?:[^"\\]|\\.)*)"\s+${QUOTED}${RENPY_TAIL}` },
    { match: String.raw`^\s*"(?<name>(?:[^"\\]|\\.)*)"\s+${SINGLE}${RENPY_TAIL}` },
    { match: String.raw`^\s*${QUOTED}\s*(?:\(.*\))?\s*(?:if\b.*)?:\s*(?:#.*)?$` },
    { match: String.raw`^\s*(?:(?<speaker>${RENPY_NAME})(?:\s+[@\w-]+)*\s+)?${QUOTED}${RENPY_TAIL}` },
    { match: String.raw`^\s*(?:(?<speaker>${RENPY_NAME})(?:\s+[@\w-]+)*\s+)?${SINGLE}${RENPY_TAIL}` },
  ],
};

/** Yarn Spinner 2: lines and options of nodes. A `#line:` tag identifies its line. Source: docs.yarnspinner.dev, "Writing Yarn Scripts". */
const YARN: ScriptSource = {
  patterns: [{ match: String.raw`^title:\s*(?<scene>\S.*?)\s*$` }],
  sections: [
    {
      begin: String.raw`^---\s*$`,
      end: String.raw`^===\s*$`,
      patterns: [
        { match: String.raw`^\s*//` },
        { match: String.raw`^\s*<<.*>>\s*(?:#.*)?$` },
        { match: '^===' },
        {
          match: String.raw`^\s*(?:->|=>)?\s*(?:(?<speaker>[^:<>#{}\[\]\s"][^:<>#{}\[\]"]{0,60}):\s+)?(?<text>\S.*?)\s*(?:<<.*>>)?\s*(?:\s#(?:.*#)?(?<key>line:\w+).*|\s#.*|\s//.*)?$`,
        },
      ],
    },
  ],
};

/** Java's properties. Source: java.util.Properties.load. */
const PROPERTIES: ScriptSource = {
  escapes: 'properties',
  joins: 'backslash',
  patterns: [
    { match: String.raw`^\s*[#!]` },
    { match: String.raw`(?s)^\s*(?<key>(?:[^\\\s:=]|\\.)+)(?:\s*[:=]|\s)\s*(?<text>.*)$` },
  ],
};

/** Apple's strings files. Source: Apple, "Resource Programming Guide", String Resources. */
const STRINGS: ScriptSource = {
  escapes: 'backslash',
  joins: 'quotes',
  sections: [{ begin: String.raw`^\s*/\*(?:[^*]|\*+[^*/])*\**$`, end: String.raw`\*/` }],
  patterns: [
    { match: String.raw`^\s*(?://|/\*.*\*/\s*$)` },
    {
      match: String.raw`(?s)(?:"(?<key>(?:[^"\\]|\\.)*)"|[\w.-]+)\s*=\s*"(?<text>(?:[^"\\]|\\.)*)"\s*;`,
    },
  ],
};

const PRESETS = {
  tyrano: TYRANO,
  renpy: RENPY,
  yarn: YARN,
  properties: PROPERTIES,
  strings: STRINGS,
} as const satisfies Readonly<Record<string, ScriptSource>>;

export type ScriptPreset = keyof typeof PRESETS;

const compiled = new Map<ScriptPreset, CompiledScript>();

/** The patterns of a script of a known engine or platform. */
export function scriptPreset(name: ScriptPreset): CompiledScript {
  const known = compiled.get(name) ?? compileScript(PRESETS[name]);
  compiled.set(name, known);
  return known;
}
