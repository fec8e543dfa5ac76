import {
  DEFAULT_ROW_KEYS,
  DEFAULT_SCENES,
  DEFAULT_SPEAKERS,
} from '../../src/localization/parse/rules/compile-rules.ts';
import {
  conditionSchema,
  parseConfigurationSchema,
  parseRuleSchema,
  scriptPatternSchema,
  scriptSchema,
  textLimitsSchema,
} from '../../src/localization/parse/rules/parse-config.ts';
import { keyTable } from './key-table.ts';
import { codes, table } from './markdown.ts';

/** docs/reference/parse-rules.md. @throws Error that names every key without a description */
export function renderParseRules(): string {
  return `# Rules of parsing

Generated from the schema by \`make docs\`; do not edit.

The section \`parse\` of the configuration of the daemon, and of the file of \`slipway parse --rules FILE\`.
[Write rules for parsing](../how-to/write-parse-rules.md) explains how to write rules;
[formats](parse-formats.md) says what is read.

## \`parse\`

${keyTable(parseConfigurationSchema)}

## \`parse.rules[]\`

For each file, and for each entry of an archive, the first rule that matches is used. A file that no rule matches is
parsed with the defaults below.

${keyTable(parseRuleSchema)}

## \`parse.rules[].script\`

The patterns of a file with the format \`script\`. They are regular expressions of
[RE2](https://github.com/google/re2/wiki/Syntax): without lookahead and references to groups, and a search takes time in
proportion to its line. Other formats of scripts have patterns of their own.

${keyTable(scriptSchema)}

## \`parse.rules[].script.patterns[]\`

${keyTable(scriptPatternSchema)}

| Group     | Its characters are                                                                  |
| --------- | ----------------------------------------------------------------------------------- |
| \`text\`    | a text                                                                              |
| \`name\`    | a text, and the speaker of this line, or of the lines below when it is alone        |
| \`speaker\` | the speaker of this text; without a text in the line, of the lines below            |
| \`scene\`   | the scene of this text and of the lines below                                       |
| \`key\`     | what identifies the text, so that it keeps its translation when lines are inserted |

## \`parse.rules[].conditions[]\`

${keyTable(conditionSchema)}

## \`parse.rules[].limits[]\`

The bounds of translations, besides \`charset\` and \`tags\`. Parsing does not depend on it.

${keyTable(textLimitsSchema)}

The tags of \`unity-rich-text\` are those of TextMeshPro and Unity UI, also \`<#hex>\`, \`<br>\`, \`<sprite name=x>\` and
tags that are not closed. The tags of \`angle\` are \`<name>\` and \`</name>\`, each closed.

## Defaults

Where a rule names no fields, these are used:

${table(
  ['Key', 'Fields'],
  [
    ['`rowKey`', codes(DEFAULT_ROW_KEYS)],
    ['`speaker`', codes(DEFAULT_SPEAKERS)],
    ['`scene`', codes(DEFAULT_SCENES)],
  ],
)}

## Globs

- \`destination\`, \`entry\` and \`stableNames\`: \`*\` stands for any characters of one segment, \`**\` for any segments.
- \`include\` and \`exclude\` match field paths: \`*\` stands for any characters of one name or index, \`**\` for any
  characters. Brackets stand for themselves: \`lines[*].text\`, \`/rows/*/Text\`.

## Codecs

A chain of steps joined by \`+\`, from the bytes in the file to the text. A string whose bytes do not come back when it is
encoded again is a \`codec_mismatch\`.

${table(
  ['Step', 'Meaning'],
  [
    ['`base64`', 'base64 with padding (RFC 4648, section 4)'],
    ['`xor:SECRET`', 'exclusive or with the bytes of a secret of `parse.secrets`, repeated'],
    ['`utf8`, `utf16le`', 'the character set; only as the last step, default `utf8`'],
  ],
)}
`;
}
