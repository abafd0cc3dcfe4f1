"""How many senses any correct policy needs: lower bounds on the cost of an identification."""
