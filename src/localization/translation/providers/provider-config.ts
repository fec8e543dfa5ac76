import { z } from 'zod';
import { NAMES_WITHOUT_PROVIDER } from '../../../contract/actions/provider-names.ts';
import { MASK_STYLES } from '../../../domain/translation/placeholder-mask.ts';
import { ANSWER_FORMATS, ANSWER_TOKENS_FIELDS, PRESET_NAMES, requestStyle } from './provider-presets.ts';

const PROVIDER_KINDS = ['openai', 'deepl', 'libretranslate', 'fixture', 'memory-only'] as const;

/** The kinds that need no configuration; a provider of that name exists for each. */
const BUILT_IN_KINDS = ['fixture', 'memory-only'] as const;

const MEBIBYTE = 1024 ** 2;

/** An absolute http(s) URL without credentials, query and fragment. */
const baseUrl = z.string().max(2048).refine(isBaseUrl, {
  message: 'must be an absolute http:// or https:// URL without user, password, query and fragment',
});

const hostName = z
  .string()
  .max(255)
  .regex(
    /^[a-z0-9.:[\]-]+$/,
    'must be a host name or an address in lower case, without scheme, port and path',
  );

/**
 * Headers that every request has; nothing may take their place. The schema of the chart takes patterns without lookahead only, as Go
 * does, so these names are in no pattern.
 */
const OWN_HEADERS: ReadonlySet<string> = new Set([
  'host',
  'connection',
  'content-length',
  'content-type',
  'transfer-encoding',
]);
/** Members of bodies that `extraBody` must not replace, by the kinds that have it. */
const OWN_MEMBERS: Readonly<Record<string, readonly string[]>> = {
  openai: [
    'messages',
    'model',
    'response_format',
    'stream',
    'n',
    // Caps of runs reckon with maxAnswerTokens.
    ...ANSWER_TOKENS_FIELDS,
    'temperature',
  ],
  deepl: [
    'text',
    'source_lang',
    'target_lang',
    'context',
    'tag_handling',
    'tag_handling_version',
    'show_billed_characters',
    'glossary_id',
    'glossary_ids',
  ],
};

const headerName = z
  .string()
  .max(64)
  .regex(/^[a-z0-9-]+$/, 'must be the name of a header in lower case')
  .refine((name) => !OWN_HEADERS.has(name), 'must be none of the headers that every request has');

const limits = z
  .strictObject({
    requestsPerMinute: z.int().min(1).max(1_000_000).optional().describe('Requests per minute of all runs.'),
    charactersPerMinute: z
      .int()
      .min(100)
      .max(1_000_000_000)
      .optional()
      .describe('Characters of sources per minute of all runs.'),
    timeoutSeconds: z.int().min(1).max(600).default(120).describe('Longest time for one whole answer.'),
    answerBytes: z
      .int()
      .min(1024)
      .max(64 * MEBIBYTE)
      .default(4 * MEBIBYTE)
      .describe('Longest answer, bytes.'),
    attempts: z
      .int()
      .min(1)
      .max(10)
      .default(3)
      .describe(
        'Requests in a row that may fail because of the provider. After them it is asked with one small request, after growing waits.',
      ),
    requestsPerUnit: z
      .int()
      .min(1)
      .max(10)
      .default(3)
      .describe('Most requests about one unit in a run, beyond that of its first batch.'),
    longestWaitSeconds: z
      .int()
      .min(0)
      .max(300)
      .default(60)
      .describe(
        'Longest wait for a provider that is out, or that asks to come back later; for a longer one the units are tried later.',
      ),
    batchUnits: z.int().min(1).max(100).default(20).describe('Units in one request.'),
    batchCharacters: z
      .int()
      .min(100)
      .max(100_000)
      .default(4000)
      .describe('Characters of sources in one request; a longer unit is sent alone.'),
  })
  .prefault({})
  .describe('Bounds of the requests and the answers.');

const GLOSSARY_PROBLEM = 'must be false, or letters, digits, "_", "." and "-", at most 64';

const price = z.number().min(0).max(1_000_000).default(0);

const prices = z
  .strictObject({
    promptTokensPerMillion: price.describe('Price of one million tokens of prompts.'),
    answerTokensPerMillion: price.describe('Price of one million tokens of answers.'),
    charactersPerMillion: price.describe('Price of one million characters of sources.'),
  })
  .prefault({})
  .describe('Prices in any one currency; max_cost needs them.');

/** Settings that only some kinds have. */
const ONLY_FOR: Readonly<Record<string, readonly string[]>> = {
  url: ['openai', 'deepl', 'libretranslate'],
  tokenFile: ['openai', 'deepl', 'libretranslate'],
  model: ['openai'],
  instructions: ['openai'],
  temperature: ['openai'],
  preset: ['openai'],
  glossary: ['deepl'],
  fallback: ['openai', 'deepl', 'libretranslate'],
};
const NEEDED: Readonly<Record<string, readonly string[]>> = {
  openai: ['url', 'model'],
  deepl: ['url', 'tokenFile'],
  libretranslate: ['url'],
};

/** The schema of one provider. */
export const providerConfigurationSchema = z
  .strictObject({
    kind: z
      .enum(PROVIDER_KINDS)
      .describe(
        'openai: any server with the chat completions of OpenAI; deepl and libretranslate: their own interfaces; memory-only: no call at all.',
      ),
    preset: z
      .enum(PRESET_NAMES)
      .optional()
      .describe(
        'What differs at a vendor: the usual URL, the header of the key, and the fields of requests.',
      ),
    url: baseUrl
      .optional()
      .describe(
        'Root of the API, such as https://api.openai.com/v1, https://api-free.deepl.com or http://127.0.0.1:5000.',
      ),
    model: z.string().min(1).max(256).optional().describe('Name of the model.'),
    tokenFile: z
      .string()
      .min(1)
      .max(4096)
      .optional()
      .describe('File with the API key. It is read for each request, so that the key can be replaced.'),
    allowHosts: z
      .array(hostName)
      .max(16)
      .default([])
      .describe('Hosts that texts may be sent to. The host of the URL must be one of them.'),
    mask: z
      .enum(MASK_STYLES)
      .default('xml')
      .describe(
        'How placeholders are written in requests: <x id="1"/>, [[1]] or private use characters. DeepL always gets the first.',
      ),
    answerFormat: z
      .enum(ANSWER_FORMATS)
      .optional()
      .describe(
        'How the model is asked for JSON. A server that refuses one is asked with the next. Default: that of the preset, or json_schema.',
      ),
    maxAnswerTokens: z.int().min(64).max(1_000_000).default(8192).describe('Longest answer, tokens.'),
    answerTokensField: z
      .enum(ANSWER_TOKENS_FIELDS)
      .optional()
      .describe(
        'The field of the request that limits the answer. A server that names the other one gets it. Default: that of the preset, or max_tokens.',
      ),
    headers: z
      .record(headerName, z.string().max(4096))
      .default({})
      .describe('Further headers of each request. The API key belongs in tokenFile.'),
    query: z
      .record(z.string().min(1).max(64), z.string().max(1024))
      .default({})
      .describe('Query parameters of each request, such as api-version.'),
    extraBody: z
      .record(z.string().min(1).max(64), z.unknown())
      .default({})
      .describe('Further members of the body of each request, such as {"reasoning_effort": "none"}.'),
    temperature: z.number().min(0).max(2).optional().describe('Absent: the default of the server.'),
    instructions: z
      .string()
      .min(1)
      .max(8000)
      .optional()
      .describe('Added to the prompt: the style of the game, for example.'),
    glossary: z
      .union([z.literal(false), z.string().regex(/^[A-Za-z0-9_.-]{1,64}$/, GLOSSARY_PROBLEM)])
      .optional()
      .describe(
        'Kind deepl: the beginning of the names of the glossaries at DeepL that are kept like the Glossary; default "slipway", false for none. Two installations with one account need two names.',
      ),
    fallback: z
      .string()
      .min(1)
      .max(64)
      .optional()
      .describe(
        'Provider that translates while this one is out or its account has trouble. It has none itself.',
      ),
    limits,
    prices,
  })
  .superRefine((value, context) => {
    const { kind } = value;
    const given = (name: string): unknown => (value as Readonly<Record<string, unknown>>)[name];
    const report = (path: string, message: string): void => {
      context.addIssue({ code: 'custom', path: [path], message });
    };
    for (const [name, kinds] of Object.entries(ONLY_FOR)) {
      if (given(name) !== undefined && !kinds.includes(kind))
        report(name, `is not used by the kind "${kind}"`);
    }
    const members = Object.keys(value.extraBody);
    const own = OWN_MEMBERS[kind];
    if (own === undefined) {
      if (members.length > 0) report('extraBody', `is not used by the kind "${kind}"`);
    } else if (members.some((name) => own.includes(name)))
      report('extraBody', `must have none of ${own.join(', ')}`);
    const url = requestStyle(value).url ?? undefined;
    for (const name of NEEDED[kind] ?? []) {
      if (given(name) === undefined && !(name === 'url' && url !== undefined))
        report(name, `is missing; the kind "${kind}" needs it`);
    }
    const host = url === undefined || !isBaseUrl(url) ? null : new URL(url).hostname;
    if (host !== null && !value.allowHosts.includes(host)) {
      report(
        'allowHosts',
        `does not have "${host}", the host of url; add it to allow that texts are sent there`,
      );
    }
  });

const NAME_PROBLEM = 'the name must be lower case letters, digits, "_" and "-", at most 64';

/** Why a provider must not have a name; `null` when it may. */
function reservedName(name: string, kind: string): string | null {
  if (NAMES_WITHOUT_PROVIDER.has(name)) {
    return `the name "${name}" marks the work of people in histories; choose another name for the provider`;
  }
  const builtIn = BUILT_IN_KINDS.find((each) => each === name);
  if (builtIn === undefined || kind === builtIn) return null;
  return `the name "${name}" is that of a built-in provider; give it the kind "${name}", or choose another name`;
}

/** The schema of `translation.providers`: providers by name. */
export const providersSchema = z
  .record(z.string().regex(/^[a-z0-9][a-z0-9_-]{0,63}$/, NAME_PROBLEM), providerConfigurationSchema, {
    error: ({ code }) => (code === 'invalid_key' ? NAME_PROBLEM : undefined),
  })
  .superRefine((providers, context) => {
    for (const [name, { kind, fallback }] of Object.entries(providers)) {
      const message = reservedName(name, kind);
      if (message !== null) context.addIssue({ code: 'custom', path: [name], message });
      if (fallback === undefined) continue;
      const other = Object.hasOwn(providers, fallback) ? providers[fallback] : undefined;
      const isFit = other?.url !== undefined || other?.preset !== undefined;
      if (isFit && fallback !== name && other.fallback === undefined) continue;
      const names = 'must name another provider with a url or a preset, which has no fallback itself';
      context.addIssue({ code: 'custom', path: [name, 'fallback'], message: names });
    }
  })
  .default({})
  .describe('Providers of translations by name. "fixture" and "memory-only" exist without being listed.');

/** One parsed provider. */
export type ProviderConfiguration = z.output<typeof providerConfigurationSchema>;

const BUILT_IN: ReadonlyMap<string, ProviderConfiguration> = new Map(
  BUILT_IN_KINDS.map((kind) => [kind, providerConfigurationSchema.parse({ kind })]),
);

/** The configuration of a provider; `null` when there is none of that name. */
export function providerNamed(
  providers: Readonly<Record<string, ProviderConfiguration>>,
  name: string,
): ProviderConfiguration | null {
  return (Object.hasOwn(providers, name) ? providers[name] : BUILT_IN.get(name)) ?? null;
}

/** The first provider whose requests cost what its configuration does not tell: a cap on costs would never be reached. */
export function unpricedOf(providers: Readonly<Record<string, ProviderConfiguration>>): string | null {
  const unpriced = Object.entries(providers).find(
    ([, { kind, prices: known }]) =>
      kind !== 'fixture' && kind !== 'memory-only' && Object.values(known).every((price) => price === 0),
  );
  return unpriced?.[0] ?? null;
}

function isBaseUrl(text: string): boolean {
  if (!URL.canParse(text)) return false;
  const { protocol, username, password, search, hash } = new URL(text);
  return (
    ['http:', 'https:'].includes(protocol) && [username, password, search, hash].every((part) => part === '')
  );
}
