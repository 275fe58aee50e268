//! Enums whose variants have names on the wire or in PostgreSQL.

/// Declares an enum with one name per variant.
///
/// The names come from strum's attributes (`serialize_all` on the enum, `serialize` on a variant), and every use
/// of a name follows from them: [`Display`](std::fmt::Display), [`FromStr`](std::str::FromStr), serde, and a `TEXT`
/// value in PostgreSQL. A variant cannot lack a name, and an unknown name is an error wherever one is read.
///
/// ```
/// primitives::text_enum! {
///     /// Status of a parcel.
///     #[strum(serialize_all = "snake_case")]
///     pub enum ParcelStatus {
///         InTransit,
///         Delivered,
///     }
/// }
///
/// assert_eq!(ParcelStatus::InTransit.as_str(), "in_transit");
/// assert_eq!(ParcelStatus::parse("delivered"), Some(ParcelStatus::Delivered));
/// assert_eq!(ParcelStatus::parse("lost"), None);
/// assert_eq!(ParcelStatus::ALL.len(), 2);
/// ```
#[macro_export]
macro_rules! text_enum {
    (
        $(#[$attribute:meta])*
        $visibility:vis enum $name:ident {
            $($(#[$variant_attribute:meta])* $variant:ident),+ $(,)?
        }
    ) => {
        #[derive(
            Debug,
            Clone,
            Copy,
            PartialEq,
            Eq,
            PartialOrd,
            Ord,
            Hash,
            $crate::private::strum::EnumString,
            $crate::private::strum::IntoStaticStr,
        )]
        #[strum(crate = "primitives::private::strum", const_into_str)]
        $(#[$attribute])*
        $visibility enum $name {
            $($(#[$variant_attribute])* $variant,)+
        }

        #[expect(
            clippy::allow_attributes,
            reason = "what a crate does not call of a generated interface is no defect"
        )]
        #[allow(dead_code, unreachable_pub, reason = "generated")]
        impl $name {
            /// All variants, in the order of their declaration.
            pub const ALL: &'static [Self] = &[$(Self::$variant,)+];

            /// Returns the name on the wire and in PostgreSQL.
            #[must_use]
            pub const fn as_str(self) -> &'static str {
                self.into_str()
            }

            /// Returns the variant with this name, or `None` if there is none.
            #[must_use]
            pub fn parse(text: &str) -> Option<Self> {
                text.parse().ok()
            }
        }

        impl ::std::fmt::Display for $name {
            fn fmt(&self, formatter: &mut ::std::fmt::Formatter<'_>) -> ::std::fmt::Result {
                formatter.pad(self.as_str())
            }
        }

        impl $crate::private::serde::Serialize for $name {
            fn serialize<S: $crate::private::serde::Serializer>(
                &self,
                serializer: S,
            ) -> ::std::result::Result<S::Ok, S::Error> {
                serializer.serialize_str(self.as_str())
            }
        }

        impl<'de> $crate::private::serde::Deserialize<'de> for $name {
            fn deserialize<D: $crate::private::serde::Deserializer<'de>>(
                deserializer: D,
            ) -> ::std::result::Result<Self, D::Error> {
                $crate::private::deserialize_name(deserializer, const { &[$(Self::$variant.as_str(),)+] })
            }
        }

        impl $crate::private::sqlx::Type<$crate::private::sqlx::Postgres> for $name {
            fn type_info() -> $crate::private::sqlx::postgres::PgTypeInfo {
                <str as $crate::private::sqlx::Type<$crate::private::sqlx::Postgres>>::type_info()
            }

            fn compatible(info: &$crate::private::sqlx::postgres::PgTypeInfo) -> bool {
                <str as $crate::private::sqlx::Type<$crate::private::sqlx::Postgres>>::compatible(info)
            }
        }

        impl $crate::private::sqlx::Encode<'_, $crate::private::sqlx::Postgres> for $name {
            fn encode_by_ref(
                &self,
                buffer: &mut $crate::private::sqlx::postgres::PgArgumentBuffer,
            ) -> ::std::result::Result<
                $crate::private::sqlx::encode::IsNull,
                $crate::private::sqlx::error::BoxDynError,
            > {
                <&str as $crate::private::sqlx::Encode<$crate::private::sqlx::Postgres>>::encode_by_ref(
                    &self.as_str(),
                    buffer,
                )
            }
        }

        impl $crate::private::sqlx::Decode<'_, $crate::private::sqlx::Postgres> for $name {
            fn decode(
                value: $crate::private::sqlx::postgres::PgValueRef<'_>,
            ) -> ::std::result::Result<Self, $crate::private::sqlx::error::BoxDynError> {
                let text =
                    <&str as $crate::private::sqlx::Decode<$crate::private::sqlx::Postgres>>::decode(value)?;
                Ok(text.parse()?)
            }
        }
    };
}

/// Reads a variant by its name, for the `Deserialize` that [`text_enum!`] implements.
///
/// # Errors
/// If no variant has the name; the message lists those that exist.
pub fn deserialize_name<'de, D, T>(
    deserializer: D,
    names: &'static [&'static str],
) -> Result<T, D::Error>
where
    D: serde::Deserializer<'de>,
    T: std::str::FromStr,
{
    struct Name<T> {
        names: &'static [&'static str],
        variant: std::marker::PhantomData<T>,
    }

    impl<T: std::str::FromStr> serde::de::Visitor<'_> for Name<T> {
        type Value = T;

        fn expecting(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
            write!(formatter, "one of {}", self.names.join(", "))
        }

        fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<T, E> {
            text.parse().map_err(|_| E::unknown_variant(text, self.names))
        }
    }

    deserializer.deserialize_str(Name { names, variant: std::marker::PhantomData })
}

#[cfg(test)]
mod tests {
    crate::text_enum! {
        /// A colour.
        #[strum(serialize_all = "snake_case")]
        enum Colour {
            Red,
            DarkBlue,
            #[strum(serialize = "off-white")]
            OffWhite,
        }
    }

    #[test]
    fn every_use_of_a_name_agrees() {
        for colour in Colour::ALL {
            assert_eq!(Colour::parse(colour.as_str()), Some(*colour));
            let json = serde_json::to_value(colour).unwrap();
            assert_eq!(json, colour.to_string());
            assert_eq!(serde_json::from_value::<Colour>(json).unwrap(), *colour);
        }
        assert_eq!(Colour::DarkBlue.as_str(), "dark_blue");
        assert_eq!(Colour::OffWhite.as_str(), "off-white");
    }

    #[test]
    fn an_unknown_name_is_an_error_that_lists_the_known_ones() {
        assert_eq!(Colour::parse("Red"), None);
        let error = serde_json::from_str::<Colour>("\"green\"").unwrap_err().to_string();
        assert!(error.contains("dark_blue") && error.contains("off-white"), "{error}");
    }
}
