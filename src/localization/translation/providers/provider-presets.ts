/** The ways to ask a language model for JSON, each the fallback of the previous way. */
export const ANSWER_FORMATS = ['json_schema', 'json_object', 'text'] as const;

type AnswerFormat = (typeof ANSWER_FORMATS)[number];

/** The fields of a request that can limit its answer. */
export const ANSWER_TOKENS_FIELDS = ['max_tokens', 'max_completion_tokens'] as const;

/** How the server of a vendor differs from others with the chat completions of OpenAI. */
interface Preset {
  /** Where the API is, unless the configuration says it; `null` where there is no common place. */
  readonly url: string | null;
  /** The header that has the API key. */
  readonly keyHeaders: (key: string) => Readonly<Record<string, string>>;
  readonly answerFormat: AnswerFormat;
  readonly answerTokensField: (typeof ANSWER_TOKENS_FIELDS)[number];
  /** Sent with each request. */
  readonly extraBody: Readonly<Record<string, unknown>>;
}

const USUAL: Omit<Preset, 'url'> = {
  keyHeaders: (key) => ({ authorization: `Bearer ${key}` }),
  answerFormat: 'json_schema',
  answerTokensField: 'max_tokens',
  extraBody: {},
};

/**
 * The presets of the kind `openai`. Errors and answers need none: those of all vendors are read everywhere.
 *
 * Source: the references of the vendors for their compatible endpoints.
 */
export const PROVIDER_PRESETS = {
  openai: { ...USUAL, url: 'https://api.openai.com/v1', answerTokensField: 'max_completion_tokens' },
  azure: {
    ...USUAL,
    url: null,
    keyHeaders: (key) => ({ 'api-key': key }),
    answerTokensField: 'max_completion_tokens',
  },
  gemini: { ...USUAL, url: 'https://generativelanguage.googleapis.com/v1beta/openai' },
  mistral: { ...USUAL, url: 'https://api.mistral.ai/v1' },
  // Without it, a request may go to a host of the model that leaves out the schema.
  openrouter: {
    ...USUAL,
    url: 'https://openrouter.ai/api/v1',
    extraBody: { provider: { require_parameters: true } },
  },
  // The compatible endpoint leaves out response_format.
  anthropic: { ...USUAL, url: 'https://api.anthropic.com/v1', answerFormat: 'text' },
  vllm: { ...USUAL, url: 'http://127.0.0.1:8000/v1' },
  llamacpp: { ...USUAL, url: 'http://127.0.0.1:8080/v1' },
  ollama: { ...USUAL, url: 'http://127.0.0.1:11434/v1' },
} as const satisfies Record<string, Preset>;

/** The name of a preset. */
export type PresetName = keyof typeof PROVIDER_PRESETS;

/** The names of the presets. */
export const PRESET_NAMES = Object.keys(PROVIDER_PRESETS) as PresetName[];

interface StyledConfiguration {
  readonly preset?: PresetName | undefined;
  readonly url?: string | undefined;
  readonly answerFormat?: AnswerFormat | undefined;
  readonly answerTokensField?: Preset['answerTokensField'] | undefined;
  readonly extraBody: Readonly<Record<string, unknown>>;
}

/** How requests are sent with a configuration: what it says, and the preset for the rest. */
export function requestStyle({ preset: name, ...own }: StyledConfiguration): Preset {
  const preset: Preset = name === undefined ? { ...USUAL, url: null } : PROVIDER_PRESETS[name];
  return {
    url: own.url ?? preset.url,
    keyHeaders: preset.keyHeaders,
    answerFormat: own.answerFormat ?? preset.answerFormat,
    answerTokensField: own.answerTokensField ?? preset.answerTokensField,
    extraBody: { ...preset.extraBody, ...own.extraBody },
  };
}
