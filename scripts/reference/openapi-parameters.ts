import { CONTROL_ACTIONS } from '../../src/contract/actions/actions.ts';
import { renderParameterSchema } from '../../src/contract/json/json-schema.ts';
import type { OperationDefinition } from '../../src/contract/operations/operation-definition.ts';
import type { QuerySchema } from '../../src/contract/schemas/query.ts';

type Json = Record<string, unknown>;

interface PathParameter {
  readonly description: string;
  readonly schema: Json;
  readonly example?: string;
}

/** Characters of the longest release id, a slash, and the longest destination. */
const PATH_MAX_LENGTH = 1_153;

const PATH_PARAMETERS: Readonly<Record<string, PathParameter>> = {
  action: {
    description: 'The control action.',
    schema: { type: 'string', enum: CONTROL_ACTIONS },
  },
  cdn_host: {
    description: 'The configured host-shaped segment; one value, the same for every request.',
    schema: { type: 'string', pattern: '^[A-Za-z0-9][A-Za-z0-9.-]*$', maxLength: 253 },
    example: 'prod-clientpatch.bluearchiveyostar.com',
  },
  path: {
    description:
      '`{release_id}/{destination}` (immutable), or `{destination}` of the current release. Its slashes may be sent as `/` or as `%2F`.',
    schema: { type: 'string', minLength: 1, maxLength: PATH_MAX_LENGTH },
    example: 'TableBundles/ExcelDB.db',
  },
};

const CDN_REQUEST_HEADERS: Readonly<Record<string, readonly Json[]>> = {
  get: [
    headerParameter('Range', 'Byte ranges, RFC 9110 section 14.2.', 'bytes=0-1023'),
    headerParameter('If-Range', 'The strong ETag for which the range holds.'),
    headerParameter('If-None-Match', 'ETags of copies the client holds.'),
    headerParameter(
      'If-Modified-Since',
      'The `Last-Modified` of a copy, exactly; ignored when If-None-Match is sent.',
    ),
  ],
  head: [
    headerParameter('If-None-Match', 'ETags of copies the client holds.'),
    headerParameter(
      'If-Modified-Since',
      'The `Last-Modified` of a copy, exactly; ignored when If-None-Match is sent.',
    ),
  ],
};

const VALIDATORS = {
  ETag: responseHeader('The BLAKE3 digest of the resource, a strong validator.'),
  'Last-Modified': responseHeader(
    'When the release became current; below a release id, when it was registered.',
  ),
  'Cache-Control': responseHeader('Immutable below a release id, else `no-cache`.'),
};
const WHOLE = {
  ...VALIDATORS,
  'Accept-Ranges': responseHeader('`bytes`.'),
  'Content-Length': { description: 'Bytes.', schema: { type: 'integer', format: 'int64', minimum: 0 } },
};

/** Response headers of the byte path, by status. */
export const CDN_RESPONSE_HEADERS: Readonly<Record<string, Json>> = {
  200: WHOLE,
  206: {
    ...WHOLE,
    'Content-Range': responseHeader('`bytes first-last/size`; absent when there are several parts.'),
  },
  304: VALIDATORS,
  416: { 'Content-Range': responseHeader('`bytes */size`.') },
  429: {
    'Retry-After': { description: 'Seconds.', schema: { type: 'integer', format: 'int64', minimum: 1 } },
  },
  503: {
    'Retry-After': { description: 'Seconds.', schema: { type: 'integer', format: 'int64', minimum: 0 } },
  },
};

/** The parameters of one operation: path, query, headers. */
export function operationParameters(operation: OperationDefinition): Json[] {
  const inPath = [...operation.path.matchAll(/\{(\w+)\}/g)].map(([, name = '']) => ({
    name,
    in: 'path',
    required: true,
    ...PATH_PARAMETERS[name],
  }));
  const headers = operation.tag === 'CDN' ? (CDN_REQUEST_HEADERS[operation.method] ?? []) : [];
  return [...inPath, ...queryParameters(operation.query), ...headers];
}

function queryParameters(query: QuerySchema): Json[] {
  return Object.entries(query.shape).map(([name, field]) => {
    const { description, ...schema } = renderParameterSchema(field);
    return { name, in: 'query', required: !field.safeParse(undefined).success, description, schema };
  });
}

function headerParameter(name: string, description: string, example?: string): Json {
  return {
    name,
    in: 'header',
    required: false,
    description,
    schema: { type: 'string' },
    ...(example === undefined ? {} : { example }),
  };
}

function responseHeader(description: string): Json {
  return { description, schema: { type: 'string' } };
}
