// The code of a page as text; scripts/page-script.mjs bundles it.
declare module '*?script' {
  const code: string;
  export default code;
}
