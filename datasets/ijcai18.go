package datasets

import (
	"tandem/algo/job"
	"tandem/algo/numeric/batch"
)

// ijcai18Schema names the columns by their content; the file numbers them.
func ijcai18Schema() batch.Schema {
	return newSchema(
		[]string{
			"item_id", "item_category", "item_brand_id", "item_city_id",
			"user_id", "user_gender_id", "user_occupation_id", "shop_id",
		},
		[]string{
			"item_price_level", "item_sales_level", "item_collected_level", "item_pv_level",
			"user_age_level", "user_star_level", "context_page_id",
			"shop_review_num_level", "shop_review_positive_rate", "shop_star_level",
			"shop_score_service", "shop_score_delivery", "shop_score_description",
		},
		"bought",
	)
}

// ijcai18Columns describes the search-ad conversions of the IJCAI-18 contest (Alimama) in
// their pre-processed form: commas and a header, the label Label, the levels and scores I1 to
// I13 as numbers, the ids C1 to C8. Every column has one value per row. Errors use the column
// names of the file.
func ijcai18Columns() *job.Table {
	columns := &job.Table{Numeric: numbered("I", 13), Label: "Label"}
	for _, name := range numbered("C", 8) {
		columns.Slots = append(columns.Slots, job.IDColumn{Column: name})
	}
	return columns
}
