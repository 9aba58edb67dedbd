import type { JSX } from 'preact';
import type { Session } from '../../api/answers/deployment.ts';
import { urlOf, type Place } from '../navigation.ts';
import { brand, logoUrl } from '../session.ts';

/** The screens of staff, or those of customers, with what their bar holds. Either comes without the other. */
export interface Screens {
  readonly Bar: (given: { readonly session: Session; readonly place: Place }) => JSX.Element;
  readonly Screen: (given: { readonly session: Session; readonly place: Place }) => JSX.Element;
}

/** These pages are a part of a page of the vendor, which has its own frame around them. */
export const isFramed: boolean = window.parent !== window;

/** The vendor's name, with their logo, or with our mark for staff. */
export function Brand(): JSX.Element {
  return (
    <a class="brand" href={urlOf.home}>
      {logoUrl === undefined ? (
        <span class="brand-mark" aria-hidden="true">
          <svg viewBox="0 0 32 32" width="22" height="22">
            <path d="M7 10h9M5 16h9M7 22h9M18 8l8 8-8 8" />
          </svg>
        </span>
      ) : (
        <img class="brand-logo" src={logoUrl} alt="" />
      )}
      <bdi>{brand}</bdi>
    </a>
  );
}
