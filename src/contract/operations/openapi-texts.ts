/** Groups of operations, with their purpose. */
export const TAGS = [
  { name: 'Health', description: 'Liveness and readiness.' },
  { name: 'Release', description: 'Bootstrap, the current release, its history and its manifest.' },
  { name: 'Launcher', description: 'Endpoints for existing launchers.' },
  { name: 'CDN', description: 'Resource bytes.' },
  { name: 'Service', description: 'The service itself.' },
  { name: 'Admin', description: 'Reports of the daemon.' },
  { name: 'Control', description: 'Actions of the daemon.' },
] as const;

/** The document declares the token for all operations except the console, as its interface demands. */
const OPEN_READS =
  'Public reads (everything outside `/admin`) need no token by default; `auth.public: token` requires one for them, and probes and `/api/launcher` never need one.';

/** The two ways to present a token. */
export const SECURITY_SCHEMES = {
  bearerToken: {
    type: 'http',
    scheme: 'bearer',
    description: `\`Authorization: Bearer <ADMIN_TOKEN>\`. ${OPEN_READS}`,
  },
  queryToken: {
    type: 'apiKey',
    in: 'query',
    name: 'svc_token',
    description: `\`?svc_token=<ADMIN_TOKEN>\`, for links; the server removes it before it logs or forwards the URL. ${OPEN_READS}`,
  },
} as const;

/** Either scheme is enough. */
export const SECURITY_REQUIREMENT = [{ bearerToken: [] }, { queryToken: [] }];
