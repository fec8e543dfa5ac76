import type { JSX } from 'preact';
import { useApp } from '../state/app.ts';
import { SECTIONS, tabsOf, viewOf, type SectionId } from './views.ts';

/** The shapes of the icons, in a box of 20 by 20. */
const ICONS: Readonly<Record<SectionId, string>> = {
  operate: 'M2 11h4l2-6 4 11 2-5h4',
  releases: 'M10 2l7 4v8l-7 4-7-4V6zM3 6l7 4 7-4M10 10v8',
  translate: 'M2 5h9M6.5 3v2M9 5c-1 4-4 6-6.5 7M4.5 8c1 2 3 3.5 5 4M10 17l4-9 4 9M11.3 14h5.4',
  settings: 'M3 6h8M15 6h2M3 14h2M9 14h8M13 6a2 2 0 1 0-4 0 2 2 0 0 0 4 0zM9 14a2 2 0 1 0-4 0 2 2 0 0 0 4 0z',
};

/** The sections of the console. A section without a page is left out. */
export function Rail(): JSX.Element {
  const { section } = viewOf(useApp().route);
  return (
    <nav class="rail" aria-label="Sections">
      <img class="mark" src="icon.svg" alt="Slipway" width={28} height={28} />
      <ul>
        {SECTIONS.map(({ id, title }) => {
          const first = tabsOf(id)[0];
          if (first === undefined) return null;
          return (
            <li key={id}>
              <a href={`#/${first.id}`} {...(id === section ? { 'aria-current': 'true' as const } : {})}>
                <svg viewBox="0 0 20 20" aria-hidden="true">
                  <path
                    d={ICONS[id]}
                    fill="none"
                    stroke="currentColor"
                    stroke-width="1.6"
                    stroke-linejoin="round"
                  />
                </svg>
                {title}
              </a>
            </li>
          );
        })}
      </ul>
    </nav>
  );
}
