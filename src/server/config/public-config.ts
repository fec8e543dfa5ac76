import { z } from 'zod';
import { CHANNELS } from '../../domain/release/channel.ts';

const HOST_SEGMENT = /^[a-z0-9](?:[a-z0-9.-]{0,251}[a-z0-9])?$/;
const FIRST_SEGMENTS_TAKEN = new Set(['healthz', 'readyz', 'v1', 'api', 'admin', 'openapi.yaml', 'metrics']);

/** The first problem of a public base URL, or `null`. */
function publicBaseUrlProblem(text: string): string | null {
  if (!URL.canParse(text)) return 'is not a URL; give scheme and host, such as https://resources.example.org';
  const url = new URL(text);
  if (url.protocol !== 'http:' && url.protocol !== 'https:')
    return 'must begin with http:// or https://, because launchers fetch from it';
  if (url.username !== '' || url.password !== '') return 'must not carry credentials';
  if (url.search !== '' || url.hash !== '')
    return 'must not have a query or fragment: launchers append text to it';
  if (url.pathname !== '/' || text.endsWith('/')) {
    return 'must be scheme, host and port only, without path and trailing slash: launchers drop or overwrite any path, so serve it from the root of a dedicated host';
  }
  return null;
}

/** Where clients reach the server. */
export const publicBaseUrl = z
  .string({ error: 'is required: scheme and host that clients use, such as https://resources.example.org' })
  .superRefine((text, context) => {
    const problem = publicBaseUrlProblem(text);
    if (problem !== null) context.addIssue({ code: 'custom', message: problem });
  })
  .describe(
    'Scheme, host and port that clients use to reach this server; every URL that it returns starts with it.',
  );

/** The section `cdn`. */
export const cdn = z
  .strictObject({
    host: z
      .string()
      .regex(HOST_SEGMENT, 'must be one lower-case host-shaped path segment')
      .refine((host) => !FIRST_SEGMENTS_TAKEN.has(host), 'is the first segment of another route')
      .default('prod-clientpatch.bluearchiveyostar.com')
      .describe('The fixed first path segment of every resource path.'),
    defaultChannel: z
      .enum(CHANNELS)
      .default('official')
      .describe('The channel of resource paths without a release id.'),
  })
  .prefault({})
  .describe('CDN-shaped delivery.');

/** Whether text is an origin exactly as browsers send it, such as `https://play.example.org`. */
function isOrigin(text: string): boolean {
  return /^https?:[^*]+$/.test(text) && URL.canParse(text) && new URL(text).origin === text;
}

/** The section `cors`. */
export const cors = z
  .strictObject({
    origins: z
      .array(
        z
          .string()
          .refine(
            (text) => text === '*' || isOrigin(text),
            'must be * or an origin such as https://play.example.org, without a path and a slash at the end',
          ),
      )
      .max(64)
      .default(['*'])
      .describe(
        'Origins whose pages may read resource bytes and /v1 in a browser, without credentials; * allows all, an empty list none. * is wrong where only the network protects the server: any page that is open in a browser inside can then read it. List the origins there, or none.',
      ),
  })
  .prefault({})
  .describe('Reads by pages of other origins (CORS).');
