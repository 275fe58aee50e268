//! Functions, types, modules and test code, from the syntax tree.

use proc_macro2::{Ident, Span};
use syn::{
    Attribute, Block, ImplItemConst, ImplItemFn, Item, ItemConst, ItemEnum, ItemFn, ItemImpl,
    ItemMod, ItemStatic, ItemStruct, ItemTrait, ItemType, Meta, Path, Signature, Token, TraitItem,
    TraitItemFn, Visibility,
    punctuated::Punctuated,
    visit::{self, Visit},
};

use super::{Facts, Function, Named, PublicItem};

pub(super) fn collect(file: &syn::File, facts: &mut Facts) {
    if file.attrs.iter().any(is_for_tests) {
        facts.test_lines.push(1..=usize::MAX);
    }
    if let Some(Item::Mod(module)) = file.items.last()
        && module.content.is_some()
        && let Some(attribute) = module.attrs.iter().find(|attribute| is_for_tests(attribute))
    {
        facts.trailing_tests_line = Some(first_line(&module.attrs, attribute.pound_token.span));
    }
    facts.has_doc = has_doc(&file.attrs);
    Collector { facts }.visit_file(file);
}

struct Collector<'f> {
    facts: &'f mut Facts,
}

impl Collector<'_> {
    fn function(&mut self, signature: &Signature, block: &Block, is_public: bool) {
        self.facts.functions.push(Function {
            name: signature.ident.to_string(),
            line: signature.fn_token.span.start().line,
            end_line: block.brace_token.span.close().end().line,
            is_public,
        });
    }

    fn type_named(&mut self, name: &Ident) {
        self.facts.types.push(named(name));
    }

    /// Records an item that has visibility `pub`.
    fn public_item(
        &mut self,
        kind: &'static str,
        name: &Ident,
        vis: &Visibility,
        attrs: &[Attribute],
    ) {
        if matches!(vis, Visibility::Public(_)) {
            let Named { name, line } = named(name);
            self.facts.public_items.push(PublicItem { kind, name, line, has_doc: has_doc(attrs) });
        }
    }

    /// Records the lines of an item compiled only for tests, from its attribute to its closing brace.
    fn test_code(&mut self, attributes: &[Attribute], end: Span) {
        if let Some(attribute) = attributes.iter().find(|attribute| is_for_tests(attribute)) {
            let start = attribute.pound_token.span.start().line;
            self.facts.test_lines.push(start..=end.end().line);
        }
    }
}

impl<'ast> Visit<'ast> for Collector<'_> {
    fn visit_item_fn(&mut self, item: &'ast ItemFn) {
        self.test_code(&item.attrs, item.block.brace_token.span.close());
        self.function(&item.sig, &item.block, is_public(&item.vis));
        self.public_item("fn", &item.sig.ident, &item.vis, &item.attrs);
        visit::visit_item_fn(self, item);
    }

    fn visit_impl_item_fn(&mut self, item: &'ast ImplItemFn) {
        self.test_code(&item.attrs, item.block.brace_token.span.close());
        self.function(&item.sig, &item.block, is_public(&item.vis));
        self.public_item("fn", &item.sig.ident, &item.vis, &item.attrs);
        visit::visit_impl_item_fn(self, item);
    }

    fn visit_impl_item_const(&mut self, item: &'ast ImplItemConst) {
        self.public_item("const", &item.ident, &item.vis, &item.attrs);
        visit::visit_impl_item_const(self, item);
    }

    fn visit_item_const(&mut self, item: &'ast ItemConst) {
        self.public_item("const", &item.ident, &item.vis, &item.attrs);
        visit::visit_item_const(self, item);
    }

    fn visit_item_static(&mut self, item: &'ast ItemStatic) {
        self.public_item("static", &item.ident, &item.vis, &item.attrs);
        visit::visit_item_static(self, item);
    }

    fn visit_item_type(&mut self, item: &'ast ItemType) {
        self.public_item("type", &item.ident, &item.vis, &item.attrs);
    }

    fn visit_trait_item_fn(&mut self, item: &'ast TraitItemFn) {
        if let Some(block) = &item.default {
            self.function(&item.sig, block, true);
        } else {
            let line = item.sig.fn_token.span.start().line;
            let name = item.sig.ident.to_string();
            self.facts.functions.push(Function { name, line, end_line: line, is_public: true });
        }
        visit::visit_trait_item_fn(self, item);
    }

    fn visit_item_impl(&mut self, item: &'ast ItemImpl) {
        self.test_code(&item.attrs, item.brace_token.span.close());
        visit::visit_item_impl(self, item);
    }

    fn visit_item_mod(&mut self, item: &'ast ItemMod) {
        self.public_item("mod", &item.ident, &item.vis, &item.attrs);
        if let Some((brace, _)) = &item.content {
            self.test_code(&item.attrs, brace.span.close());
            self.facts.inline_modules.push(named(&item.ident));
        }
        visit::visit_item_mod(self, item);
    }

    fn visit_item_struct(&mut self, item: &'ast ItemStruct) {
        self.type_named(&item.ident);
        self.public_item("struct", &item.ident, &item.vis, &item.attrs);
    }

    fn visit_item_enum(&mut self, item: &'ast ItemEnum) {
        self.type_named(&item.ident);
        self.public_item("enum", &item.ident, &item.vis, &item.attrs);
    }

    fn visit_item_trait(&mut self, item: &'ast ItemTrait) {
        self.type_named(&item.ident);
        self.public_item("trait", &item.ident, &item.vis, &item.attrs);
        for part in &item.items {
            match part {
                TraitItem::Fn(f) => self.public_item("fn", &f.sig.ident, &item.vis, &f.attrs),
                TraitItem::Const(c) => self.public_item("const", &c.ident, &item.vis, &c.attrs),
                _ => {}
            }
        }
        visit::visit_item_trait(self, item);
    }
}

fn named(name: &Ident) -> Named {
    Named { name: name.to_string(), line: name.span().start().line }
}

fn is_public(visibility: &Visibility) -> bool {
    !matches!(visibility, Visibility::Inherited)
}

fn has_doc(attributes: &[Attribute]) -> bool {
    attributes.iter().any(|attribute| attribute.path().is_ident("doc"))
}

fn first_line(attributes: &[Attribute], otherwise: Span) -> usize {
    let first = attributes.first().map_or(otherwise, |attribute| attribute.pound_token.span);
    first.start().line
}

/// `#[test]` in any spelling that ends in `test`, or a `cfg` that only tests satisfy.
fn is_for_tests(attribute: &Attribute) -> bool {
    let path = attribute.path();
    if path.is_ident("cfg") {
        return attribute.parse_args::<Meta>().is_ok_and(|meta| requires_test(&meta));
    }
    path.segments.last().is_some_and(|segment| segment.ident == "test")
}

fn requires_test(meta: &Meta) -> bool {
    match meta {
        Meta::Path(path) => is_test(path),
        Meta::List(list) if list.path.is_ident("all") => list
            .parse_args_with(Punctuated::<Meta, Token![,]>::parse_terminated)
            .is_ok_and(|parts| parts.iter().any(requires_test)),
        _ => false,
    }
}

fn is_test(path: &Path) -> bool {
    path.is_ident("test")
}

#[cfg(test)]
mod tests {
    use super::super::read_facts;

    #[test]
    fn functions_are_measured_from_fn_to_closing_brace() {
        let facts = read_facts(
            "/// Doc.\n#[must_use]\npub fn a()\n-> u8 {\n    1\n}\n\
             impl X { fn b() {} }\ntrait T { fn c(); fn d() {} }\n",
        )
        .unwrap();
        let found =
            facts.functions.iter().map(|f| (f.name.as_str(), f.line, f.lines(), f.is_public));
        assert_eq!(
            found.collect::<Vec<_>>(),
            [("a", 3, 4, true), ("b", 7, 1, false), ("c", 8, 1, true), ("d", 8, 1, true)]
        );
    }

    #[test]
    fn types_and_inline_modules_are_named() {
        let facts = read_facts("struct A;\nenum B {}\ntrait C {}\nmod d { struct E; }\nmod f;");
        let facts = facts.unwrap();
        let names = facts.types.iter().map(|found| found.name.as_str());
        assert_eq!(names.collect::<Vec<_>>(), ["A", "B", "C", "E"]);
        assert_eq!(facts.inline_modules.len(), 1);
    }

    #[test]
    fn test_code_is_recognized_by_its_attribute() {
        let lines = |text: &str| read_facts(text).unwrap().test_lines;
        assert_eq!(lines("#[cfg(test)]\nmod t {\n}\n"), [1..=3]);
        assert_eq!(lines("#[tokio::test]\nasync fn t() {\n}\n"), [1..=3]);
        assert_eq!(lines("#[cfg(all(test, unix))]\nimpl X {\n}\n"), [1..=3]);
        assert_eq!(lines("#![cfg(test)]\n"), [1..=usize::MAX]);
        assert_eq!(lines("#[cfg(any(test, unix))]\nmod t {}\n#[cfg(unix)]\nfn a() {}\n"), []);
    }
}
