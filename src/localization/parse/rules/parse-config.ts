import { isRecord } from '../../../domain/is-record.ts';
import { z } from 'zod';
import { SOURCE_SCRIPTS } from '../../../domain/text/source-script.ts';
import { compileScript, ScriptPatternError } from '../../../formats/script/compile-script.ts';
import { TABLE_ENCODINGS } from '../../../formats/text/table-encoding.ts';
import { globSchema } from '../../../platform/config/glob-schema.ts';

/** The formats that a rule can name. `auto`: told by the first bytes, then by the name. `skip`: the file has no text. */
export const RULE_FORMATS = [
  'auto',
  'unity',
  'zip',
  'json',
  'csv',
  'tsv',
  'text',
  'script',
  'tyrano',
  'renpy',
  'yarn',
  'properties',
  'strings',
  'rpg-maker',
  'xml',
  'android',
  'resx',
  'po',
  'gzip',
  'zlib',
  'sqlite',
  'flatbuffers',
  'skip',
] as const;

export type RuleFormat = (typeof RULE_FORMATS)[number];

/** The encodings of text files. `utf-16` needs a byte order mark. */
export const RULE_ENCODINGS = ['utf-8', 'utf-16', 'utf-16le', 'utf-16be', ...TABLE_ENCODINGS] as const;

/** What separates the columns of a table. `auto`: what separates its first row into the most columns. */
const DELIMITERS = ['auto', ',', ';', '\t', '|'] as const;

/**
 * How tags are written: `none`: a text has no tags; `angle`: `<name>` and `</name>`, each closed; `unity-rich-text`: those of
 * TextMeshPro and Unity UI, also `<#hex>`, `<br>`, `<sprite name=x>` and tags that are not closed.
 */
const TAG_GRAMMARS = ['none', 'angle', 'unity-rich-text'] as const;

const fieldName = z.string().min(1).max(256);
const secretName = z.string().regex(/^[A-Za-z0-9_-]{1,64}$/, 'must be letters, digits, "_" and "-"');
const filePath = z.string().min(1).max(4096);
const fieldGlobs = z.array(z.string().min(1).max(1024)).max(64);
const expression = z.string().min(1).max(2048);
const textLimit = z.int().min(1).max(1_000_000).optional();

export const textLimitsSchema = z.strictObject({
  fields: fieldGlobs
    .default([])
    .describe('Globs of field paths that the limits are for. Empty: every field.'),
  maxBytes: textLimit.describe('Bytes in the encoding of the file.'),
  maxCharacters: textLimit.describe('Characters (Unicode code points).'),
  maxWidth: textLimit.describe('Columns of the widest line; East Asian wide characters take two.'),
  maxLines: textLimit.describe('Lines.'),
});

export const scriptPatternSchema = z.strictObject({
  match: expression.describe(
    'Regular expression of RE2. Its groups are `(?<text>...)`, and `name`, `speaker`, `scene` and `key`.',
  ),
  line: expression.optional().describe('Regular expression that the line must match as well.'),
  block: z
    .boolean()
    .optional()
    .describe('Whether lines that follow each other and match are one text. Default: false.'),
});

const scriptPatterns = z.array(scriptPatternSchema).max(64);

export const scriptSchema = z
  .strictObject({
    patterns: scriptPatterns.describe(
      'For each line, the first pattern that matches is used. One without groups leaves its lines out.',
    ),
    sections: z
      .array(
        z.strictObject({
          begin: expression.describe('Regular expression of the first line.'),
          end: expression.optional().describe('Regular expression of the last line.'),
          patterns: scriptPatterns.optional().describe('Patterns in the part.'),
        }),
      )
      .max(32)
      .optional()
      .describe(
        'Parts with `patterns` of their own, from a line that matches `begin` to one that matches `end`, or as far as lines are indented deeper. Without `patterns` they are left out.',
      ),
    escapes: z
      .enum(['none', 'backslash', 'properties'])
      .optional()
      .describe('How texts are written: as they are (default), with backslashes, or as Java does.'),
    joins: z
      .enum(['none', 'backslash', 'quotes'])
      .optional()
      .describe(
        'Which lines are joined: none (default), a line that ends with a backslash with the next one, or those inside double quotes.',
      ),
  })
  .superRefine((script, context) => {
    try {
      compileScript(script);
    } catch (error) {
      if (!(error instanceof ScriptPatternError)) throw error;
      context.addIssue({ code: 'custom', path: [...error.path], message: error.message });
    }
  });

const fieldValues = z.array(z.union([z.string().max(256), z.int()])).max(256);

export const conditionSchema = z.strictObject({
  fields: fieldGlobs.min(1).describe('Globs of field paths that the condition is for.'),
  sibling: fieldName.describe('A field of the object around the text, or of one around that.'),
  is: fieldValues
    .optional()
    .describe('The text counts only if the field has one of these values; `*` is any value.'),
  isNot: fieldValues
    .optional()
    .describe('The text does not count if the field has one of these values; `*` is any value.'),
});

/** For checks that also run when other parts of the value are wrong, so that every problem is reported together. */
const ALWAYS = { when: ({ value }: { readonly value: unknown }) => isRecord(value) };

const secretNames = z.object({
  secrets: z.record(z.string(), z.unknown()).catch({}),
  rules: z
    .array(
      z
        .object({
          password: z
            .union([z.string(), z.record(z.string(), z.string())])
            .optional()
            .catch(undefined),
          codec: z.string().optional().catch(undefined),
        })
        .catch({}),
    )
    .catch([]),
});

export const parseRuleSchema = z
  .strictObject({
    destination: z
      .array(globSchema)
      .min(1)
      .max(64)
      .describe('Globs; the rule is for destinations that match one.'),
    entry: z
      .array(globSchema)
      .max(64)
      .default([])
      .describe(
        'Globs of archive entries (`a.zip!/b.json` inside archives of archives). Empty: every entry.',
      ),
    format: z.enum(RULE_FORMATS).default('auto').describe('The format of the file.'),
    encoding: z.enum(RULE_ENCODINGS).default('utf-8').describe('The encoding of text files of all formats.'),
    delimiter: z
      .enum(DELIMITERS)
      .default('auto')
      .describe(
        'What separates the columns of CSV. `auto`: what separates the first row into the most columns.',
      ),
    script: scriptSchema
      .optional()
      .describe('The patterns of the format `script`; see [scripts](#parserulesscript).'),
    conditions: z
      .array(conditionSchema)
      .max(64)
      .default([])
      .describe('Which texts count, by other fields around them. Each one that is for a field must hold.'),
    header: z.boolean().default(true).describe('Whether the first row of CSV and TSV names the columns.'),
    rowKey: z
      .array(z.union([fieldName, z.array(fieldName).min(1).max(8)]))
      .max(16)
      .optional()
      .describe(
        'Fields, or lists of fields together, that identify a row; the first that is unique is used.',
      ),
    include: fieldGlobs
      .default([])
      .describe('Globs of field paths; a text must match one. Empty: every field.'),
    exclude: fieldGlobs.default([]).describe('Globs of field paths; a text that matches one is left out.'),
    sourceScript: z.enum(SOURCE_SCRIPTS).optional().describe('Default: parse.sourceScript.'),
    speaker: z.array(fieldName).max(16).optional().describe('Fields that name the speaker of a text.'),
    scene: z.array(fieldName).max(16).optional().describe('Fields that name the scene of a text.'),
    nested: z
      .record(fieldName, z.enum(RULE_FORMATS))
      .default({ m_Script: 'auto' })
      .describe('Fields whose value is a file of its own, with its format.'),
    codec: z
      .string()
      .max(256)
      .optional()
      .describe('How strings of FlatBuffers tables are encoded, as `base64+xor:SECRET+utf16le`.'),
    schema: filePath.optional().describe('Binary schema (`.bfbs`) of FlatBuffers tables.'),
    typeTrees: filePath
      .optional()
      .describe('Type trees for files of Unity that have none. Default: parse.typeTrees.'),
    password: z
      .union([secretName, z.record(z.string().min(1).max(1024), secretName)])
      .optional()
      .describe('The secret with the password of an archive, or secrets by glob of the entry.'),
    limits: z
      .array(textLimitsSchema)
      .max(64)
      .default([])
      .describe('How long translations may be; the first that matches a field is used.'),
    charset: filePath
      .optional()
      .describe('File in UTF-8 with the characters that translations may have; its line breaks are ignored.'),
    repetitions: z
      .boolean()
      .default(true)
      .describe(
        'Whether a text that is translated once gives its translation to the same text of the same speaker in the same kind of field.',
      ),
    tags: z.enum(TAG_GRAMMARS).default('unity-rich-text').describe('How tags in texts are written.'),
  })
  .superRefine(({ format, schema, codec, script, nested }, context) => {
    const isScript = format === 'script' || Object.values(nested ?? {}).includes('script');
    if (isScript !== (script !== undefined)) {
      const message = isScript ? 'is needed for the format script' : 'is only for the format script';
      context.addIssue({ code: 'custom', path: ['script'], message });
    }
    if (format === 'flatbuffers' && schema === undefined) {
      context.addIssue({ code: 'custom', path: ['schema'], message: 'is needed for the format flatbuffers' });
    }
    if (format !== 'flatbuffers' && codec !== undefined) {
      context.addIssue({ code: 'custom', path: ['codec'], message: 'is only for the format flatbuffers' });
    }
  }, ALWAYS);

/** The schema of `parse` in the configuration of the daemon, and of a file of rules. */
export const parseConfigurationSchema = z
  .strictObject({
    automatic: z.boolean().default(true).describe('Whether a release is parsed when it becomes current.'),
    processes: z.int().min(1).max(16).default(1).describe('Processes that parse, at low priority.'),
    memoryMebibytes: z
      .int()
      .min(256)
      .max(65_536)
      .default(512)
      .describe('Resident memory of each process; one that needs more is killed and its container fails.'),
    timeoutSeconds: z
      .int()
      .min(1)
      .max(3600)
      .default(300)
      .describe('Longest time for one container; the process is killed after it and the container fails.'),
    sourceScript: z
      .enum(SOURCE_SCRIPTS)
      .default('japanese')
      .describe('Strings with a character of this script are text; the others are counted as skipped.'),
    stableNames: z
      .array(globSchema)
      .max(64)
      .default([])
      .describe(
        'Globs of destinations. Destinations of two releases that match the same glob are the same container. Hashes in names are recognized without it.',
      ),
    typeTrees: filePath
      .optional()
      .describe('Type trees for files of Unity that have none; a rule can name others.'),
    secrets: z
      .record(secretName, filePath)
      .default({})
      .describe('Files with passwords and keys, by the name that rules use.'),
    rules: z
      .array(parseRuleSchema)
      .max(1000)
      .default([])
      .describe('The first rule that matches a file is used.'),
  })
  .superRefine((value, context) => {
    const { rules, secrets } = secretNames.parse(value);
    for (const [index, { password, codec }] of rules.entries()) {
      const passwords = typeof password === 'string' ? [password] : Object.values(password ?? {});
      for (const name of passwords.filter((name) => !Object.hasOwn(secrets, name))) {
        context.addIssue({
          code: 'custom',
          path: ['rules', index, 'password'],
          message: unknownSecret(name),
        });
      }
      for (const [, name = ''] of (codec ?? '').matchAll(/xor:([^+]*)/g)) {
        if (Object.hasOwn(secrets, name)) continue;
        context.addIssue({ code: 'custom', path: ['rules', index, 'codec'], message: unknownSecret(name) });
      }
    }
  }, ALWAYS);

export type ParseConfiguration = z.output<typeof parseConfigurationSchema>;

export type ParseRule = z.output<typeof parseRuleSchema>;

function unknownSecret(name: string): string {
  return `names the secret "${name}", which parse.secrets does not have`;
}
