//! A shelf for customers who read Spanish.

use crate::line::{LINE, Line, axis, item};

pub(super) const LINES: &[Line] = &[COCINA, CASA, NINOS];

const COCINA: Line = Line {
    prefix: "COCI",
    category: "mercadillo/cocina",
    brand: "Casa Cigüeña",
    about: "Hecho en talleres pequeños, revisado pieza a pieza.",
    items: &[
        item(101, "Paellera esmaltada, 34 cm", 3400)
            .about("Para seis raciones y una discusión sobre el arroz.")
            .with(&[("material", "acero esmaltado"), ("diámetro", "34 cm")]),
        item(102, "Cazuelas de barro, juego de 4", 2800)
            .about("Pequeñas, para gambas al ajillo y otras urgencias.")
            .with(&[("material", "barro"), ("diámetro", "14 cm")]),
        item(103, "Cafetera italiana, 6 tazas", 3200)
            .about("Borbotea a las siete en punto y despierta a toda la casa.")
            .with(&[("material", "aluminio"), ("capacidad", "300 ml")]),
        item(104, "Sartén de hierro fundido, 26 cm", 4600)
            .about("Pesa lo suyo y fríe huevos con puntilla.")
            .with(&[("material", "hierro fundido"), ("peso", "2,3 kg")]),
        item(105, "Cuchillo jamonero", 5200)
            .about("Hoja larga y flexible para lonchas que se transparentan.")
            .with(&[("material", "acero inoxidable"), ("longitud", "28 cm")]),
        item(106, "Tabla de cortar de olivo", 3800)
            .about("Veteada, pesada, contenta de ver pan.")
            .with(&[("material", "madera de olivo"), ("tamaño", "38 x 22 cm")]),
        item(107, "Delantal de algodón a rayas", 2600)
            .about("Con dos bolsillos: uno para el trapo, otro para los secretos.")
            .with(&[("material", "algodón")])
            .colours(&["Azul", "Granate"]),
        item(108, "Botijo de barro blanco", 3600)
            .about("Enfría el agua sin enchufe desde antes de los enchufes.")
            .with(&[("material", "barro"), ("capacidad", "2 litros")]),
        item(109, "Aceitera de vidrio", 1900)
            .about("Un chorrito fino y ninguna mancha en el mantel.")
            .with(&[("material", "vidrio"), ("capacidad", "350 ml")]),
    ],
    ..LINE
};

const CASA: Line = Line {
    prefix: "CASA",
    category: "mercadillo/casa",
    brand: "Casa Cigüeña",
    about: "Se envía envuelto en papel de estraza.",
    items: &[
        item(201, "Manta de lana merina", 8900)
            .about("Abriga dos siestas a la vez.")
            .with(&[("material", "lana merina"), ("tamaño", "130 x 180 cm")])
            .colours(&["Crema", "Teja"]),
        item(202, "Cojines bordados, pareja", 4400)
            .about("Bordados a mano con golondrinas que no se posan dos veces igual.")
            .with(&[("material", "algodón"), ("tamaño", "45 x 45 cm")]),
        item(203, "Alfombra de esparto", 9800)
            .about("Trenzada, fresca en verano, honrada en invierno.")
            .with(&[("material", "esparto"), ("tamaño", "140 x 200 cm")]),
        item(204, "Abanico pintado a mano", 2900)
            .about("Varillas de peral y un paisaje que se pliega.")
            .with(&[("material", "madera y tela"), ("longitud", "23 cm")]),
        item(205, "Cesta de mimbre con asas", 3900)
            .about("Para la compra, la leña o un gato mediano.")
            .with(&[("material", "mimbre"), ("tamaño", "40 cm")]),
        item(206, "Velas aromáticas de romero, juego de 3", 2400)
            .about("Huelen a monte después de la lluvia.")
            .with(&[("material", "cera de soja"), ("duración", "25 horas")]),
        item(207, "Toallas de baño, juego de 2", 4800)
            .about("Rizo denso, bordes reforzados, suaves desde el primer lavado.")
            .with(&[("material", "algodón"), ("tamaño", "70 x 140 cm")]),
    ],
    ..LINE
};

const NINOS: Line = Line {
    prefix: "NINO",
    category: "mercadillo/juguetes",
    brand: "Tres Ratones",
    about: "Pinturas al agua y cantos redondeados.",
    items: &[
        item(301, "Peonza de madera con cuerda", 900)
            .about("Baila en el suelo, en la mano y en la mesa del comedor.")
            .with(&[("material", "madera de haya"), ("edad", "5+")]),
        item(302, "Rompecabezas de animales", 1800)
            .about("Veinticuatro piezas grandes y un burro que siempre falta.")
            .with(&[("material", "cartón"), ("edad", "3+")]),
        item(303, "Cometa con forma de cigüeña", 2600)
            .about("Vuela con poco viento y emigra en otoño.")
            .with(&[("material", "tela"), ("edad", "6+")]),
        item(304, "Títeres de dedo, juego de 5", 2200)
            .about("Un rey, una bruja, un lobo, una abuela y otro lobo.")
            .with(&[("material", "fieltro"), ("edad", "3+")])
            .choose(&[axis("cuento", &["Bosque", "Granja"])]),
    ],
    ..LINE
};
